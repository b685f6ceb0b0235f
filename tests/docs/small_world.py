"""Small data in place of a user's own: whatever folder or file a shown command names."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

CLASSES, EACH, CHECKED = 3, 24, 10


@cache
def _digits() -> dict[int, list[Image.Image]]:
    images, labels = load_digits(return_X_y=True)
    grey = (255 - 255 * images.reshape(-1, 8, 8) / 16).astype("uint8")
    return {
        digit: [Image.fromarray(picture).resize((16, 16)) for picture in grey[labels == digit]] for digit in range(10)
    }


def _classes(folder: Path, first: int, count: int) -> None:
    """Write a folder a digit, with the last two images of each under the next digit's name."""
    for digit in range(CLASSES):
        for number, picture in enumerate(_digits()[digit][first : first + count]):
            label = (digit + 1) % CLASSES if first == 0 and number >= count - 2 else digit
            path = folder / str(label) / f"{digit}-{number:02d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture.save(path)


def _photos(folder: Path) -> None:
    _classes(folder, 0, EACH)


def _checked(folder: Path) -> None:
    _classes(folder, EACH, CHECKED)


def _loose(folder: Path) -> None:
    """Write digits of no class of the photos, without labels."""
    folder.mkdir(parents=True)
    for number, picture in enumerate(_digits()[8][:12]):
        picture.save(folder / f"{number:02d}.png")


def _probabilities(file: Path) -> None:
    """Write probabilities that agree with the labels of the photos."""
    paths = sorted(Path("photos").rglob("*.png"))
    classes = sorted({path.parent.name for path in paths})
    own = np.eye(len(classes))[[classes.index(path.parent.name) for path in paths]]
    ids = [path.relative_to("photos").as_posix() for path in paths]
    np.savez(file, pred_probs=0.8 * own + 0.2 / len(classes), ids=np.array(ids), classes=np.array(classes))


def _embeddings(file: Path) -> None:
    """Write features and labels of the photos, in the order of their names."""
    paths = sorted(Path("photos").rglob("*.png"))
    pixels = np.stack([np.asarray(Image.open(path), dtype="float32").ravel() / 255 for path in paths])
    ids = [path.relative_to("photos").as_posix() for path in paths]
    np.savez(file, embeddings=pixels, labels=np.array([path.parent.name for path in paths]), ids=np.array(ids))


def _decisions(file: Path) -> None:
    """Keep the label of the first image of the audit in this folder."""
    with Path("audit/audit.csv").open(newline="", encoding="utf-8") as table:
        first = next(csv.DictReader(table))
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("id", "decision", "new_label"), (first["id"], "relabel", first["label"])])


def _annotations(path: Path) -> None:
    """Write what Label Studio would export: the tasks of ``studio``, one of them annotated."""
    tasks = json.loads(Path("studio/tasks.json").read_text(encoding="utf-8"))
    chosen = {"type": "choices", "value": {"choices": [tasks[0]["data"]["label"]]}}
    path.write_text(json.dumps([tasks[0] | {"annotations": [{"result": [chosen]}]}, *tasks[1:]]), encoding="utf-8")


MAKERS: dict[str, Callable[[Path], None]] = {
    "photos": _photos,
    "checked_images": _checked,
    "checked": _checked,
    "known": _checked,
    "new_images": _loose,
    "other_images": _loose,
    "foreign": _loose,
    "own.npz": _embeddings,
    "probs.npz": _probabilities,
    "decisions.csv": _decisions,
    "export.json": _annotations,
}
"""Name in the documentation -> what writes it."""


def provide(word: str) -> None:
    """Write what a word of a command names, if it is a user's own data and not there yet."""
    name = word.rstrip("/")
    if name in MAKERS and not Path(name).exists():
        if name in ("own.npz", "probs.npz"):
            provide("photos")
        MAKERS[name](Path(name))


def python_names() -> dict[str, Any]:
    """Return the variables that shown Python code takes for granted."""
    import pandas
    import torch

    pictures = [np.asarray(picture.convert("RGB")) for digit in range(CLASSES) for picture in _digits()[digit][:EACH]]
    labels = np.repeat(np.arange(CLASSES), EACH)
    generator = torch.Generator().manual_seed(0)
    return {"pandas": pandas, "images": np.stack(pictures), "labels": labels, "new_images": np.stack(pictures[:4])} | {
        "positives": torch.rand(len(labels), CLASSES, generator=generator),
        "embeddings": torch.randn(len(labels), 8, generator=generator),
    }
