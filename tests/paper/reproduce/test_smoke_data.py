"""The small folder that stands for the web sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from lond.data.sources import load
from lond.paper.reproduce.smoke_data import CLASSES, TEST, TRAINING, make_web_folder


def test_the_generated_web_folder(tmp_path: Path) -> None:
    folder = make_web_folder(tmp_path / "web-digits")
    train, test = load(str(folder), "train"), load(str(folder), "test")
    assert (len(train), len(test)) == (CLASSES * TRAINING, CLASSES * TEST)
    assert train.class_names == test.class_names == tuple(f"digit{digit}" for digit in range(CLASSES))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.png")}
    assert {path: path.stat().st_mtime_ns for path in make_web_folder(folder).rglob("*.png")} == before


def test_one_in_six_training_images_is_another_digit(tmp_path: Path) -> None:
    digits = load_digits()
    pixels = (digits.images * (255 / 16)).round().astype(np.uint8)
    digit_of = {image.tobytes(): int(digit) for image, digit in zip(pixels, digits.target, strict=True)}
    folder = make_web_folder(tmp_path / "web-digits")
    for split, wrong in (("train", [8, 9, 3, 4]), ("val", [])):
        found = []
        for path in sorted((folder / split / "digit2").iterdir()):
            with Image.open(path) as picture:
                assert picture.size == (16, 16)
                found.append(digit_of[np.asarray(picture)[::2, ::2].tobytes()])
        assert [digit for digit in found if digit != 2] == wrong


def test_a_folder_that_was_cut_short_is_completed(tmp_path: Path) -> None:
    folder = make_web_folder(tmp_path / "web-digits")
    (folder / "val" / "digit0" / "00.png").unlink()
    (folder / ".complete").unlink()
    make_web_folder(folder)
    assert (folder / "val" / "digit0" / "00.png").is_file()
