"""Sets with too few classes are refused with advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lond.data.sources import load
from lond.data.two_classes import check_two_classes
from lond.errors import DataError


def folder_of_fish(root: Path) -> Path:
    (root / "photos" / "fish").mkdir(parents=True)
    for at in range(3):
        Image.new("RGB", (8, 8), (at, 0, 0)).save(root / "photos" / "fish" / f"{at}.png")
    return root / "photos" / "fish"


def test_a_single_class_folder_leads_to_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fish = folder_of_fish(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as told:
        check_two_classes(load("photos/fish"), "an audit compares")
    assert str(told.value) == (
        "photos/fish holds 3 images but no class folders; "
        "if 'fish' is the class of these images, give its parent folder (photos)"
    )
    monkeypatch.chdir(fish)
    with pytest.raises(DataError, match="if 'fish' is the class of these images, give its parent folder") as here:
        check_two_classes(load("."), "an audit compares")
    assert str(here.value).endswith(f"({fish.parent.resolve()})")


def test_sets_without_folders_are_told_what_they_need() -> None:
    unlabelled = load((np.zeros((3, 2)), [None] * 3))
    with pytest.raises(DataError, match=r"has 0 classes; a classifier needs at least two"):
        check_two_classes(unlabelled, "a classifier needs")


def test_two_classes_are_enough() -> None:
    check_two_classes(load((np.zeros((2, 2)), ["cat", "dog"])), "an audit compares")
