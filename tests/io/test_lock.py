from __future__ import annotations

import threading
from pathlib import Path

import pytest

from lond.errors import ConfigError
from lond.io import lock
from lond.io.lock import locked


def test_a_held_folder_is_refused_or_waited_for(tmp_path: Path) -> None:
    order, begun = list[str](), threading.Event()

    def second() -> None:
        begun.set()
        with locked(tmp_path):
            order.append("second")

    waiting = threading.Thread(target=second)
    with locked(tmp_path):
        with pytest.raises(ConfigError, match="wait for the other"), locked(tmp_path, "wait for the other"):
            pass
        waiting.start()
        begun.wait(timeout=10)
        order.append("first")
    waiting.join(timeout=10)
    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == []


def test_an_error_lets_go(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path, "still held"):
        pass


def test_without_locks_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    with locked(tmp_path, "held"), locked(tmp_path, "held"):
        pass
