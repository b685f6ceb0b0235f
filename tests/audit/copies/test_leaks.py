"""Audited images that are in a test set: one that is given, or the one beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lond.audit.copies.leaks import leaks_into_test
from lond.data.options import ReadOptions
from lond.data.sources import load
from lond.errors import DataError
from lond.frozen.read import FeatureReader

READER = FeatureReader(None, torch.device("cpu"))
OPTIONS = ReadOptions(num_workers=0)


def write(root: Path, seed: int) -> None:
    """Write two blurred pictures of noise for each of two classes."""
    random = np.random.default_rng(seed)
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        for number in range(2):
            noise = Image.fromarray(random.integers(0, 256, (6, 6, 3), dtype=np.uint8))
            noise.resize((64, 64)).save(root / name / f"{number}.png")


def leaks(source: Path, test: Path | None) -> list[tuple[str, str, bool]]:
    facts = READER.read(load(source, "train", options=OPTIONS), None, perceptual=True)
    return [tuple(leak.values()) for leak in leaks_into_test(source, test, facts, OPTIONS, READER)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a set whose test split holds one exact copy and one that was scaled, under other names and labels."""
    write(tmp_path / "train", 0)
    write(tmp_path / "test", 1)
    shutil.copy(tmp_path / "train" / "cat" / "0.png", tmp_path / "test" / "dog" / "same.png")
    with Image.open(tmp_path / "train" / "dog" / "1.png") as picture:
        picture.resize((40, 40)).save(tmp_path / "test" / "dog" / "scaled.jpg")
    return tmp_path


def test_exact_and_near_copies_are_told_apart(folder: Path) -> None:
    found = leaks(folder / "train", folder / "test")
    assert sorted(found) == [("cat/0.png", "dog/same.png", True), ("dog/1.png", "dog/scaled.jpg", False)]


def test_a_split_of_the_source_itself_is_searched(folder: Path) -> None:
    assert [exact for *_, exact in leaks(folder, None)].count(True) == 1
    assert leaks(folder / "train", None) == []


def test_a_test_set_that_is_missing_is_told(folder: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        leaks(folder / "train", folder / "nowhere")
