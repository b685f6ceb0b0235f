"""Small data, the commands that are tortured, and what of their results must not depend on what happened meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from lond.io.csv_files import read_rows
from lond.results import scan
from lond.train.checkpoint import load_state
from lond.train.state import CHECKPOINT

CLASSES, SIDE = 3, 8
TIMES = ("seconds", "finished", "machine", "seconds_an_epoch", "time", "sha256")
"""Entries that depend on the clock, the hash of a file that holds times among them."""

SMALL = (
    "--threads", "1", "--accelerator", "cpu", "--set", "net.width=0.1", "--set", "train.batch_size=32",
)  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A command of ``lond``, without its output folder, and what its folder holds in the end."""

    name: str
    arguments: tuple[str, ...]
    answer: Callable[[Path], Any]


def make_world(folder: Path) -> None:
    """Write handwritten digits as arrays, as pictures and as features, some of them with wrong labels."""
    digits = load_digits(n_class=CLASSES)
    random = np.random.default_rng(0)
    count = 240
    images = (digits.images[:count] * 15.9).astype(np.uint8)
    labels = digits.target[:count].copy()
    wrong = random.choice(count, count // 5, replace=False)
    labels[wrong] = (labels[wrong] + 1) % CLASSES
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(
        folder / "images.npz", x_train=images[:180], y_train=labels[:180], x_test=images[180:], y_test=labels[180:]
    )
    ids = []
    for number, (image, label) in enumerate(zip(images[:90], labels[:90], strict=True)):
        ids.append(f"{'abc'[label]}/{number:03d}.png")
        (folder / "photos" / ids[-1]).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / "photos" / ids[-1])
    features = images[:90].reshape(90, -1).astype(np.float32) / 255
    np.savez(folder / "features.npz", embeddings=features, ids=np.array(ids))


def commands(world: Path) -> list[Command]:
    """Return what is tortured: one command of every kind that trains."""
    data = str(world / "images.npz")
    return [
        Command("train", ("train", data, "--method", "lond-drs", "--epochs", "12", *SMALL), run_answer),
        Command(
            "audit",
            (
                "audit", str(world / "photos"), "--embeddings", str(world / "features.npz"), "--epochs", "4",
                "--threads", "1", "--accelerator", "cpu", "--map", "pca",
            ),
            _audit,
        ),
        Command(
            "compare",
            ("compare", data, "--methods", "standard,dividemix", "--jobs", "2", "--epochs", "6", *SMALL),
            _comparison,
        ),
        Command(
            "reproduce",
            (
                "reproduce", "table1", "--scale", "smoke", "--cells", "Standard", "--cells", "Ours", "--cells", "sym80",
                "--cells", "cifar80n", "--jobs", "2", "--threads", "1", "--accelerator", "cpu", "--yes",
            ),
            _reproduced,
        ),
    ]  # fmt: skip


def timeless(value: Any) -> Any:
    """Return a copy without what depends on the clock; tensors as plain values."""
    if isinstance(value, dict):
        return {str(key): timeless(part) for key, part in value.items() if key not in TIMES}
    if isinstance(value, list | tuple):
        return [timeless(part) for part in value]
    return (str(value.dtype), value.tolist()) if hasattr(value, "tolist") else value


def run_answer(folder: Path) -> Any:
    """Return what a run folder holds in the end, without times."""
    return {
        "state": timeless(load_state(folder / CHECKPOINT)),
        "metrics": timeless(json.loads((folder / "metrics.json").read_text("utf-8"))),
        "verdicts": (folder / "verdicts.csv").read_text("utf-8"),
    }


def _audit(folder: Path) -> Any:
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    return {"table": (folder / "audit.csv").read_text("utf-8"), "summary": timeless(summary)}


def _comparison(folder: Path) -> Any:
    rows = list(read_rows(folder / "comparison.csv", ("method",), "a comparison"))
    return [{name: text for name, text in row.items() if "seconds" not in name} for row in rows]


def _reproduced(folder: Path) -> Any:
    records, unusable = scan(folder / "store")
    assert not unusable
    return sorted(
        (record.name, timeless(dict(record.metrics)), timeless(dict(record.verdicts)), timeless(dict(record.curves)))
        for record in records
    )
