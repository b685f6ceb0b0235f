"""WebDataset archives, whole and spoilt."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lond.data.options import ReadOptions
from lond.data.read.shards import read_shards, shards_in, shards_of_split
from lond.data.sources import has_split, load
from lond.errors import DataError
from lond.types import Request

COLOURS = {"red": (255, 0, 0), "blue": (0, 0, 255)}


def encoded(colour: str, side: int = 8) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (side, side), COLOURS[colour]).save(file, "PNG")
    return file.getvalue()


def pack(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def two_shards(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    pack(folder / "a.tar", {"x/0001.png": encoded("red"), "x/0001.cls": b"red\n", "x/0002.cls": b"red"})
    json_label = json.dumps({"label": "blue", "other": 1}).encode()
    pack(folder / "b.tar", {"0001.png": encoded("blue"), "0001.json": json_label, "0003.png": encoded("red")})
    return folder


def test_pictures_labels_and_ids(tmp_path: Path) -> None:
    samples = load(two_shards(tmp_path / "shards"), options=ReadOptions(num_workers=0))
    assert samples.ids == ("a.tar/x/0001", "b.tar/0001", "b.tar/0003") and samples.class_names == ("blue", "red")
    assert samples.labels.tolist() == [1, 0, -2]
    (images,) = samples.pixels.stream([Request(torch.arange(3))])
    assert images[0, :, :, 4, 4].tolist() == [[255, 0, 0], [0, 0, 255], [255, 0, 0]]
    assert [problem.id for problem in samples.problems] == ["a.tar/x/0002"]
    again = load(tmp_path / "shards", options=ReadOptions(num_workers=0))
    assert samples.pixels.fingerprint() == again.pixels.fingerprint()
    assert np.shape(images) == (1, 3, 3, 8, 8)


def test_one_archive_and_splits(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    for split in ("train", "val"):
        pack(
            folder / f"{split}-0.tar",
            {"0.png": encoded("red"), "0.cls": b"0", "1.png": encoded("blue"), "1.cls": b"1"},
        )
    assert [path.name for path in shards_of_split(folder, "test")] == ["val-0.tar"]
    assert has_split(folder, "test") and load(folder, "test", class_names=("0", "1")).ids[0] == "val-0.tar/0"
    assert load(folder / "train-0.tar").class_names == ("0", "1")
    assert has_split(folder / "train-0.tar", "train")
    (folder / "notes.md").touch()
    assert shards_in(folder) == [] and shards_in(tmp_path / "nothing") == []


def test_spoilt_archives(tmp_path: Path) -> None:
    pack(tmp_path / "zipped.tar", {"0.png": encoded("red")}, "w:gz")
    with pytest.raises(DataError, match="unpack compressed ones"):
        read_shards(tmp_path / "zipped.tar")
    pack(tmp_path / "odd.tar", {"0.png": encoded("red"), "0.json": b"{"})
    with pytest.raises(DataError, match=r"the label of odd.tar/0 cannot be read"):
        read_shards(tmp_path / "odd.tar")
    pack(tmp_path / "empty.tar", {"0.cls": b"1"})
    with pytest.raises(DataError, match="holds no picture that can be used; the first: empty.tar/0"):
        read_shards(tmp_path / "empty.tar")
