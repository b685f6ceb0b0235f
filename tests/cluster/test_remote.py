"""A worker becomes like the process that asked, or says in one line why it cannot."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from lond.cluster.remote import Asker, become_like, carry
from lond.errors import ConfigError


@pytest.fixture
def asker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asker:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "there").mkdir()
    return Asker(version("lond"), str(tmp_path / "there"), (*sys.path[:1], str(tmp_path / "modules")))


def test_a_worker_takes_over_folder_and_modules(asker: Asker) -> None:
    before = len(sys.path)
    become_like(asker)
    assert os.getcwd() == os.path.realpath(asker.folder)
    assert sys.path[-1] == asker.paths[1] and len(sys.path) == before + 1


def test_packed_work_is_done_there(asker: Asker) -> None:
    packed = pytest.importorskip("ray").cloudpickle.dumps((lambda *all_of: (os.getcwd(), *all_of), ("item", 1)))
    assert carry(packed, asker, ("shared",)) == (os.path.realpath(asker.folder), "item", 1, "shared")


def test_another_version_is_refused(asker: Asker) -> None:
    with pytest.raises(ConfigError, match="has lond .*, not 9.9; install the same everywhere"):
        become_like(replace(asker, version="9.9"))


def test_a_folder_that_is_not_shared_is_refused(asker: Asker) -> None:
    with pytest.raises(ConfigError, match="does not see .*missing; all machines of the cluster need one shared disk"):
        become_like(replace(asker, folder=f"{asker.folder}/missing"))
