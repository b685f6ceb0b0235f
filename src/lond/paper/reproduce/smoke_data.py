"""Small image folder that replaces the web sets in smoke runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

CLASSES, TRAINING, TEST = 5, 24, 8
"""Digits that are classes, and images of each to train and to test on; one in six training images is another digit."""

FOREIGN_DIGITS = (8, 9)
DONE = ".complete"


def make_web_folder(folder: Path) -> Path:
    """Write digits as PNG files, ``train/<class>/`` with wrong ones among them and ``val/<class>/``; return the folder.

    The same files are written every time; a complete folder is left as it is.
    """
    if (folder / DONE).is_file():
        return folder
    # Imported here: it takes a second, which only smoke runs on web sets are worth.
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images * (255 / 16)).round().astype(np.uint8).repeat(2, axis=1).repeat(2, axis=2)
    of_digit = {digit: images[digits.target == digit] for digit in range(10)}
    for digit in range(CLASSES):
        own = of_digit[digit]
        training = [own[at] for at in range(TRAINING)]
        for place, wrong in enumerate((FOREIGN_DIGITS[0], FOREIGN_DIGITS[1], (digit + 1) % CLASSES)):
            training[6 * place] = of_digit[wrong][-1 - digit]
        training[18] = of_digit[(digit + 2) % CLASSES][-1 - digit]
        _write(folder / "train" / f"digit{digit}", training)
        _write(folder / "val" / f"digit{digit}", [own[at] for at in range(TRAINING, TRAINING + TEST)])
    (folder / DONE).touch()
    return folder


def _write(folder: Path, images: list[np.ndarray]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{number:02d}.png")
