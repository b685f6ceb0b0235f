"""Tensors in files that know their content."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from lond.errors import DamagedFileError, DataError
from lond.io.tensor_files import LAYOUT, load_tensors, save_tensors

TENSORS = {
    "empty": torch.zeros(0, 3),
    "half": torch.tensor([1.5, -2]).bfloat16(),
    "truth": torch.tensor([True, False]),
    "one": torch.tensor(7),
}


def test_what_is_written_is_read_and_other_tools_read_it_too(tmp_path: Path) -> None:
    save_tensors(tmp_path / "a", TENSORS, {"words": ["ü", None, 1.5]})
    found = load_tensors(tmp_path / "a")
    assert (found.layout, found.about) == (LAYOUT, {"words": ["ü", None, 1.5]})
    for name, tensor in load_file(tmp_path / "a").items():
        assert torch.equal(tensor, TENSORS[name]) and torch.equal(tensor, found.tensors[name])
        assert tensor.dtype == TENSORS[name].dtype
    assert found.tensors.keys() == TENSORS.keys()


@pytest.mark.parametrize("swap", ["values", "names", "words", "no hash", "shape"])
def test_what_is_not_as_it_was_written_is_damage(swap: str, tmp_path: Path) -> None:
    from safetensors import safe_open

    save_tensors(tmp_path / "a", {"x": torch.zeros(2), "y": torch.ones(2)}, {"a": 1})
    with safe_open(tmp_path / "a", framework="pt") as file:
        words = file.metadata()
    tensors = {"x": torch.zeros(2), "y": torch.ones(2)}
    if swap == "values":
        tensors["y"] = torch.tensor([1.0, 2.0])
    elif swap == "names":
        tensors = {"x": torch.ones(2), "y": torch.zeros(2)}
    elif swap == "shape":
        tensors["y"] = torch.ones(1, 2)
    elif swap == "words":
        words["about"] = '{"a": 2}'
    else:
        del words["sha256"]
    save_file(tensors, tmp_path / "a", metadata=words)
    with pytest.raises(DamagedFileError, match="content is not what was written"):
        load_tensors(tmp_path / "a")


def test_files_of_older_and_newer_versions(tmp_path: Path) -> None:
    save_file(TENSORS, tmp_path / "none")
    assert (load_tensors(tmp_path / "none").layout, load_tensors(tmp_path / "none").about) == (0, {})
    save_file(TENSORS, tmp_path / "first", metadata={"format": "1", "tree": "[1]"})
    assert (load_tensors(tmp_path / "first").layout, load_tensors(tmp_path / "first").about) == (1, {"tree": [1]})
    save_file(TENSORS, tmp_path / "later", metadata={"format": "12"})
    with pytest.raises(DataError, match=r"a newer version of lond in layout 12; this one reads up to 2: update lond"):
        load_tensors(tmp_path / "later")
    save_file(TENSORS, tmp_path / "other", metadata={"format": "pt"})
    with pytest.raises(DamagedFileError, match=r"written by another program \(layout pt\)"):
        load_tensors(tmp_path / "other")


def test_no_file_and_no_tensors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        load_tensors(tmp_path / "none")
    with pytest.raises(DataError, match="there is no file"):
        load_tensors(tmp_path)
    (tmp_path / "text").write_text("not at all")
    with pytest.raises(DamagedFileError, match=r"text is damaged \(.+\)"):
        load_tensors(tmp_path / "text")
