"""Lists of files and pictures, and data frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lond.data.options import ReadOptions
from lond.data.read.listed import is_list_of_paths, is_list_of_pictures
from lond.data.sources import has_split, load
from lond.errors import DataError
from lond.types import Request

OPTIONS = ReadOptions(num_workers=0)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = []
    for number, colour in enumerate(("red", "blue", "lime")):
        found.append(tmp_path / f"{number}.png")
        Image.new("RGB", (10 + 4 * number, 12), colour).save(found[-1])
    return found


def test_lists_of_paths_with_and_without_labels(files: list[Path], tmp_path: Path) -> None:
    samples = load((files, ["a", "b", "a"]), options=OPTIONS)
    assert samples.ids == tuple(str(file) for file in files) and samples.labels.tolist() == [0, 1, 0]
    (images,) = samples.pixels.stream([Request(torch.arange(3))])
    assert images[0, :, :, 5, 5].tolist() == [[255, 0, 0], [0, 0, 255], [0, 255, 0]]
    named = load(
        ([file.name for file in files], np.asarray([1, 0, 1])), options=ReadOptions(num_workers=0, root=tmp_path)
    )
    assert named.ids == ("0.png", "1.png", "2.png") and named.class_names == ("0", "1")
    bare = load([str(file) for file in files], class_names=("a", "b"), options=OPTIONS)
    assert bare.labels.tolist() == [-2] * 3
    twice = load(([files[0], files[0]], ["a", "b"]), options=OPTIONS)
    assert twice.ids == (str(files[0]), f"{files[0]}#1")


def test_what_is_wrong_with_a_list(files: list[Path]) -> None:
    with pytest.raises(DataError, match=r"1 of 4 files do not exist, among them .*lost.png"):
        load(([*files, "lost.png"], [0, 1, 0, 1]), options=OPTIONS)
    with pytest.raises(DataError, match="3 images but 2 labels"):
        load((files, [0, 1]), options=OPTIONS)


def test_pictures_of_mixed_sizes() -> None:
    pictures = [
        Image.new("RGB", (30, 20), "red"),
        np.full((12, 40, 3), (0, 0, 255), dtype=np.uint8),
        torch.zeros(3, 16, 16, dtype=torch.uint8),
    ]
    samples = load((pictures, ["a", "b", "a"]), options=OPTIONS)
    assert samples.pixels.size == (16, 16) and samples.labels.tolist() == [0, 1, 0]
    (images,) = samples.pixels.stream([Request(torch.arange(3))])
    assert images[0, :, :, 8, 8].tolist() == [[255, 0, 0], [0, 0, 255], [0, 0, 0]]
    with pytest.raises(DataError, match="two or three dimensions"):
        load(([np.zeros(3, dtype=np.uint8)], ["a"]), options=OPTIONS)


def test_data_frames(files: list[Path], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "path": [file.name for file in files],
            "label": ["a", "b", None],
            "id": ["x", "y", "z"],
            "split": ["train", "train", "test"],
        }
    )
    options = ReadOptions(num_workers=0, root=tmp_path)
    samples = load(frame, options=options)
    assert samples.ids == ("x", "y") and samples.labels.tolist() == [0, 1]
    assert has_split(frame, "test", options) and not has_split(frame.drop(columns="split"), "test", options)
    with pytest.raises(DataError, match="data frame has no column 'label'"):
        load(frame.drop(columns="label"), options=options)


def test_what_a_list_is() -> None:
    assert is_list_of_paths(["a", Path("b")]) and is_list_of_paths(np.asarray(["a", "b"]))
    assert not is_list_of_paths([]) and not is_list_of_paths("ab") and not is_list_of_paths(np.zeros(3))
    assert is_list_of_pictures([np.zeros((2, 2))]) and not is_list_of_pictures([1]) and not is_list_of_pictures([])
