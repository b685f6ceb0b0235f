"""The two newest checkpoints: one always loads, and none is taken for another run's."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from lond.errors import DamagedFileError, DataError, FullDiskError
from lond.io import tensor_files
from lond.train import state
from lond.train.state import (
    CHECKPOINT,
    PREVIOUS,
    check_identity,
    newest_checkpoint,
    read_checkpoint,
    save_checkpoint,
    told_change,
)

IDENTITY = {"settings": {"train.seed": 1}, "data": {"train": {"images": 3}}}


def made(epochs: int) -> dict[str, Any]:
    history = [{"epoch": epoch} for epoch in range(epochs)]
    return {"method": {"w": torch.arange(4.0)}, "extra": {}, "optimiser": {}, "runtime": {}, "history": history}


def epochs_of(folder: Path) -> int:
    saved = read_checkpoint(folder, IDENTITY)
    assert saved is not None
    return len(saved.state["history"])


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def test_the_two_newest_are_kept(tmp_path: Path) -> None:
    assert newest_checkpoint(None) is newest_checkpoint(tmp_path) is read_checkpoint(tmp_path, IDENTITY) is None
    for epochs in (1, 2, 3):
        save_checkpoint(tmp_path, made(epochs), IDENTITY)
    assert sorted(path.name for path in tmp_path.iterdir()) == [PREVIOUS, CHECKPOINT]
    assert newest_checkpoint(tmp_path) == tmp_path / CHECKPOINT
    assert epochs_of(tmp_path) == 3
    (tmp_path / CHECKPOINT).unlink()
    assert newest_checkpoint(tmp_path) == tmp_path / PREVIOUS
    assert epochs_of(tmp_path) == 2


def test_a_damaged_newest_one_falls_back_and_says_so(tmp_path: Path) -> None:
    for epochs in (1, 2):
        save_checkpoint(tmp_path, made(epochs), IDENTITY)
    damage(tmp_path / CHECKPOINT)
    with pytest.warns(UserWarning, match="is damaged .*; going on from the one before it, after 1 epochs"):
        assert epochs_of(tmp_path) == 1
    damage(tmp_path / PREVIOUS)
    with pytest.raises(DamagedFileError, match=rf"{CHECKPOINT} is damaged .*; delete it to start anew"):
        epochs_of(tmp_path)


def test_without_second_names_the_newest_is_all_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    for epochs in (1, 2):
        save_checkpoint(tmp_path, made(epochs), IDENTITY)
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    assert epochs_of(tmp_path) == 2


@pytest.mark.parametrize("failures", [1, 2])
def test_a_full_disk_costs_the_older_one_at_most(
    failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for epochs in (1, 2):
        save_checkpoint(tmp_path, made(epochs), IDENTITY)
    real, tries = tensor_files.save_file, []

    def full(tensors: Any, path: Any, metadata: Any) -> None:
        tries.append((tmp_path / PREVIOUS).exists())
        if len(tries) <= failures:
            raise OSError(errno.ENOSPC, "full")
        real(tensors, path, metadata)

    monkeypatch.setattr(tensor_files, "save_file", full)
    if failures == 1:
        save_checkpoint(tmp_path, made(3), IDENTITY)
    else:
        with pytest.raises(FullDiskError, match="the disk is full"):
            save_checkpoint(tmp_path, made(3), IDENTITY)
    assert tries == [True, False]
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    assert epochs_of(tmp_path) == (3 if failures == 1 else 2)


def test_the_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, made(1), {"settings": {"train.seed": 2, "new": 3}, "data": {"train": {"images": 3}}})
    with pytest.raises(DataError, match=r"belongs to another run \(it differs in train\.seed\)"):
        read_checkpoint(tmp_path, IDENTITY)
    many = {f"s{number}": number for number in range(9)}
    with pytest.raises(DataError, match=r"s0, s1, s2, s3, s4, \.\.\.\)"):
        check_identity(Path("c"), {"settings": many}, {"settings": dict.fromkeys(many, "x")})


def test_a_damaged_one_is_not_replaced_by_one_of_another_run(tmp_path: Path) -> None:
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        save_checkpoint(tmp_path / str(seed), made(1), {"settings": {"train.seed": seed}})
    shutil.copy(tmp_path / "2" / CHECKPOINT, tmp_path / "1" / PREVIOUS)
    damage(tmp_path / "1" / CHECKPOINT)
    with pytest.raises(DataError, match=rf"{PREVIOUS} belongs to another run"):
        read_checkpoint(tmp_path / "1", IDENTITY)


def test_another_way_of_computing_is_told() -> None:
    stored = {state.RUNTIME: {"precision": "32-true", "processes": 1}}
    assert told_change(stored, {"precision": "32-true", "processes": 1}) == ""
    assert told_change({}, {"precision": "32-true"}) == ""
    told = told_change(stored, {"precision": "bf16-mixed", "processes": 2})
    assert told == "precision 32-true before, bf16-mixed now; processes 1 before, 2 now"
    check_identity(Path("c"), stored, {state.RUNTIME: {"precision": "bf16-mixed"}})
