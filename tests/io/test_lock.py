from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lond.errors import ConfigError, FullDiskError
from lond.io import lock
from lond.io.lock import LOCK, locked, wait_until_free


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
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


def test_an_error_lets_go(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path, "still held"):
        pass


def test_without_locks_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    with locked(tmp_path, "held"), locked(tmp_path, "held"):
        pass


def test_the_lock_of_a_file_alone_keeps_others_out(tmp_path: Path) -> None:
    """On NFS that is all that another machine sees: folders are locked on one machine only."""
    with (tmp_path / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="held"), locked(tmp_path, "held"):
            pass
    with locked(tmp_path, "held"):
        pass


HOLDER = """
import sys, time
from pathlib import Path
from lond.io.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_killed_owner_is_waited_for_and_lets_go(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None and owner.stdout.readline() == "held\n"
        begun = time.monotonic()
        assert not wait_until_free(tmp_path, 0.2, every=0.05)
        assert time.monotonic() - begun >= 0.2
        threading.Timer(0.3, lambda: os.kill(owner.pid, signal.SIGKILL)).start()
        assert wait_until_free(tmp_path, 30, every=0.05)
        with locked(tmp_path, "held"):
            pass
    finally:
        owner.kill()
        owner.communicate()


def test_a_disk_without_locks_of_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.flock

    def flock(handle: int, how: int) -> None:
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOLCK, "no locks available")
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(UserWarning, match="locks no files: start no other machine on it"), locked(tmp_path, "held"):
        pass


def test_where_nothing_can_be_written_the_folder_alone_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, code = os.open, errno.EROFS

    def refuse(path: Path, flags: int, *rest: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    with locked(tmp_path, "held"):
        assert not list(tmp_path.iterdir())
        with pytest.raises(ConfigError, match="held"), locked(tmp_path, "held"):
            pass
    code = errno.ENOSPC
    with pytest.raises(FullDiskError, match="disk is full"), locked(tmp_path, "held"):
        pass
