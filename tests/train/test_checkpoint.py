"""Checkpoints: every kind of value, shared memory, crashes, damage."""

from __future__ import annotations

import math
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from lond.errors import DamagedFileError, DataError
from lond.io import tensor_files
from lond.train.checkpoint import load_state, read_state, same_state, save_state

BITS = torch.Generator().manual_seed(0)


def nested_state() -> dict[str, Any]:
    return {
        "tensors": [
            torch.randn(3, 4, generator=BITS),
            torch.tensor([True, False]),
            torch.randn(5, generator=BITS).half(),
            torch.randn(5, generator=BITS).bfloat16(),
            torch.arange(4),
            torch.arange(3, dtype=torch.uint8),
            torch.tensor(2.5),
            torch.empty(0, 3),
            torch.randn(2, 3, 4, 5, generator=BITS).contiguous(memory_format=torch.channels_last),
            torch.randn(4, 6, generator=BITS).T[1:3],
        ],
        "optimiser": {"state": {0: {"step": torch.tensor(3.0)}, 17: {}}, "groups": [{"betas": (0.9, 0.999)}]},
        "scalars": (None, True, False, 0, -7, 2**60, 0.1, 1e-300, "text ü\n", ""),
        "keys": {1: "int", "1": "text", None: "none"},
        "empty": {"dict": {}, "list": [], "tuple": ()},
        "tensor": "a word that also marks tensors",
        "like a mark": {"tensor": "0"},
    }


def exactly_equal(first: Any, second: Any) -> bool:
    """Equality of values, types and dtypes, told apart from ``same_state``."""
    if type(first) is not type(second):
        return False
    if isinstance(first, torch.Tensor):
        return first.dtype == second.dtype and first.shape == second.shape and bool((first == second).all())
    if isinstance(first, dict):
        return list(first) == list(second) and all(exactly_equal(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(exactly_equal, first, second))
    return bool(first == second)


def test_round_trip_of_every_kind(tmp_path: Path) -> None:
    state = nested_state()
    save_state(tmp_path / "c", state)
    loaded = load_state(tmp_path / "c")
    assert exactly_equal(loaded, state)
    assert same_state(loaded, state)
    assert [entry.name for entry in tmp_path.iterdir()] == ["c"]


def test_a_state_without_tensors(tmp_path: Path) -> None:
    save_state(tmp_path / "c", {"a": 1})
    assert load_state(tmp_path / "c") == {"a": 1}


def test_shared_memory_and_gradients(tmp_path: Path) -> None:
    base = torch.arange(6.0, requires_grad=True)
    save_state(tmp_path / "c", {"whole": base, "same": base, "part": base[2:4]})
    loaded = load_state(tmp_path / "c")
    assert loaded["part"].tolist() == [2, 3]
    assert not loaded["whole"].requires_grad
    with torch.no_grad():
        base.zero_()
    assert loaded["same"].tolist() == [0, 1, 2, 3, 4, 5]


def test_values_that_are_not_finite_survive(tmp_path: Path) -> None:
    save_state(tmp_path / "c", {"nan": math.nan, "inf": -math.inf, "tensor": torch.tensor([math.nan, math.inf])})
    loaded = load_state(tmp_path / "c")
    assert math.isnan(loaded["nan"])
    assert loaded["inf"] == -math.inf
    assert loaded["tensor"].isnan().tolist() == [True, False]


def test_other_objects_are_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    save_state(tmp_path / "c", {"a": 1})
    with pytest.raises(TypeError, match="Path"):
        save_state(tmp_path / "c", {"a": Path("x")})
    assert load_state(tmp_path / "c") == {"a": 1}


@pytest.mark.parametrize("moment", ["while writing", "before the move"])
def test_a_crash_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    save_state(tmp_path / "c", {"a": torch.arange(3)})

    def half_written(tensors: Any, path: Path, metadata: Any) -> None:
        Path(path).write_bytes(b"half a file")
        raise KeyboardInterrupt

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if moment == "while writing":
            patch.setattr(tensor_files, "save_file", half_written)
        else:
            patch.setattr(os, "fsync", crash)
        with pytest.raises(KeyboardInterrupt):
            save_state(tmp_path / "c", {"a": torch.arange(9)})
    assert load_state(tmp_path / "c")["a"].tolist() == [0, 1, 2]
    save_state(tmp_path / "c", {"a": torch.arange(5)})
    assert load_state(tmp_path / "c")["a"].tolist() == [0, 1, 2, 3, 4]
    assert [entry.name for entry in tmp_path.iterdir()] == ["c"]


def test_it_reaches_the_disk_before_it_takes_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (events.append("sync"), sync(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, target: (events.append("move"), replace(self, target))[1])
    save_state(tmp_path / "c", {"a": 1})
    assert events == ["sync", "move"]


def damaged(content: bytes) -> dict[str, bytes]:
    return {
        "empty": b"",
        "cut in the header": content[:20],
        "cut in the data": content[:-5],
        "text": b"this is a text file, and longer than eight bytes",
        "a header that is too long": b"\xff" * 64,
        "pickle": pickle.dumps({"a": 1}),
    }


@pytest.mark.parametrize("kind", list(damaged(b"")))
def test_damaged_and_foreign_files_are_data_errors(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "c.safetensors"
    save_state(path, {"a": torch.arange(100)})
    path.write_bytes(damaged(path.read_bytes())[kind])
    with pytest.raises(DataError, match=r"c\.safetensors"):
        load_state(path)


def test_missing_files_and_other_layouts(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no checkpoint"):
        load_state(tmp_path / "none")
    save_file({"weight": torch.zeros(2)}, tmp_path / "other")
    with pytest.raises(DamagedFileError, match="damaged, or was written by another program"):
        load_state(tmp_path / "other")
    later = {"format": "3", "written_by": "lond 7.0", "tree": "{}"}
    save_file({"weight": torch.zeros(2)}, tmp_path / "later", metadata=later)
    with pytest.raises(DataError, match=r"written by lond 7\.0 in layout 3; this one reads up to 2: update lond"):
        load_state(tmp_path / "later")


def test_tensors_have_their_real_names(tmp_path: Path) -> None:
    state = {"method": {"net.0.weight": torch.ones(2)}, "rows": [torch.zeros(1)], 1: torch.zeros(2), "1": torch.ones(3)}
    save_state(tmp_path / "c", state)
    assert set(load_file(tmp_path / "c")) == {"method.net.0.weight", "rows.0", "1", "1#2"}
    assert exactly_equal(load_state(tmp_path / "c"), state)
    odd = {"__metadata__": torch.ones(1), "\udc80": torch.ones(2), "": torch.ones(3)}
    save_state(tmp_path / "d", odd)
    assert exactly_equal(load_state(tmp_path / "d"), odd)


def test_what_a_file_holds_and_whose_it_is(tmp_path: Path) -> None:
    save_state(tmp_path / "c", {"a": 1}, holds="checkpoint", identity={"settings": {"seed": 3, "sizes": (1, 2)}})
    saved = read_state(tmp_path / "c", holds="checkpoint", needed=("a",))
    assert saved.identity == {"settings": {"seed": 3, "sizes": [1, 2]}}
    with pytest.raises(DataError, match="holds a checkpoint, not a decision"):
        read_state(tmp_path / "c", holds="decision")
    with pytest.raises(DataError, match="c is not a checkpoint: it has no b"):
        read_state(tmp_path / "c", holds="checkpoint", needed=("a", "b"))


def of_version_1(path: Path, tree: str) -> None:
    save_file({"0": torch.arange(3)}, path, metadata={"format": "1", "tree": tree})


def test_files_of_version_0_1_0_are_read_without_a_hash(tmp_path: Path) -> None:
    of_version_1(tmp_path / "c", '{"dict": [["a", {"tensor": "0"}], ["b", NaN]]}')
    saved = read_state(tmp_path / "c", holds="checkpoint")
    assert saved.state["a"].tolist() == [0, 1, 2] and math.isnan(saved.state["b"]) and saved.identity == {}


@pytest.mark.parametrize(
    "tree",
    ["", "null", "[]", "7", '{"dict": [["a", {"tensor": "1"}]]}', '{"dict": [[[], 1]]}', '{"dict": 3}', "[" * 9999],
)
def test_lists_of_contents_that_do_not_fit_are_damage(tree: str, tmp_path: Path) -> None:
    of_version_1(tmp_path / "c", tree)
    with pytest.raises(DamagedFileError, match="c is damaged"):
        load_state(tmp_path / "c")


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "c"
    save_state(path, {"a": torch.arange(3.0), "b": [True, 1.5, None, "x"]}, holds="checkpoint", identity={"seed": 1})
    content = path.read_bytes()
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        with pytest.raises(DataError):
            load_state(path)


def test_nothing_is_ever_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("pickle was used")

    for name in ("load", "loads", "dump", "dumps", "Unpickler", "Pickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    monkeypatch.setattr(torch, "save", refuse)
    save_state(tmp_path / "c", nested_state())
    assert load_state(tmp_path / "c").keys() == nested_state().keys()


def test_same_state_sees_every_difference() -> None:
    state = {"a": [torch.arange(3.0), 1, "x"], "b": None}
    assert same_state(state, {"a": [torch.arange(3.0), 1, "x"], "b": None})
    for other in (
        {"a": [torch.arange(3.0) + 1e-7, 1, "x"], "b": None},
        {"a": [torch.arange(3.0), 2, "x"], "b": None},
        {"a": [torch.arange(3.0), 1], "b": None},
        {"a": [torch.arange(3.0), 1, "x"]},
        {"a": [torch.arange(3.0), 1, "x"], "b": 0},
        {"a": [torch.arange(4.0), 1, "x"], "b": None},
    ):
        assert not same_state(state, other)


def test_same_state_with_values_that_are_not_numbers() -> None:
    assert same_state({"a": math.nan}, {"a": math.nan})
    assert same_state(torch.tensor([math.nan]), torch.tensor([math.nan]))
