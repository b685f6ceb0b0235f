"""A folder of coloured images with wrong labels and foreign pictures, and a stand-in for the frozen network."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

COLOURS = {"red": (220, 30, 30), "green": (30, 220, 30), "blue": (30, 30, 220)}
OTHER = (220, 220, 30)


class PoolFeatures:
    """Stands in for a network: 4 x 4 averages of every channel, plain and mirrored."""

    def __init__(self, settings: object, device: object, folder: object = None) -> None:
        self.settings = settings

    def __call__(self, images: Tensor) -> Tensor:
        x = images.float() / 255
        views = [torch.nn.functional.adaptive_avg_pool2d(view, 4).flatten(1) for view in (x, x.flip(-1))]
        return torch.stack(views, dim=1)


def write_folder(root: Path, each: int = 40, foreign: int = 12, wrong: int = 6) -> None:
    """Write ``each`` images of three classes; file names tell the truth: ``red_3.png`` in ``green/`` is mislabelled."""
    random = np.random.RandomState(0)
    names = list(COLOURS)
    for place, name in enumerate(names):
        for index in range(each):
            label = names[(place + 1) % 3] if index < wrong else name
            _save(root / label / f"{name}_{index}.png", COLOURS[name], random)
    for index in range(foreign):
        _save(root / names[index % 3] / f"other_{index}.png", OTHER, random)


def add_trouble(root: Path) -> None:
    """Add an unreadable file, an exact copy under the same label and one under another."""
    (root / "red" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    shutil.copy(root / "green" / "green_20.png", root / "green" / "again.png")
    shutil.copy(root / "blue" / "blue_20.png", root / "red" / "elsewhere.png")


def _save(path: Path, colour: tuple[int, int, int], random: np.random.RandomState) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = random.randint(-30, 31, (16, 16, 3))
    Image.fromarray((np.array(colour) + noise).clip(0, 255).astype(np.uint8)).save(path)


def truth(name: str) -> str:
    """Return the true kind of an image from its id, ``<label>/<class>_<number>.png``."""
    label, file = name.split("/")
    kind = file.rsplit("_", 1)[0]
    return "foreign" if kind == "other" else "clean" if kind == label else "mislabelled"
