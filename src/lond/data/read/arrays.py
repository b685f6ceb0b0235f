"""Arrays and ``.npz`` files as Samples; the doors for other libraries' datasets are here too.

What a label means is said in ``lond.data.read.labels``: None, NaN and -2 are missing, -1 is foreign (test data only).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lond.data.feature_views import FeaturePixels
from lond.data.options import is_training, split_names
from lond.data.pixels import ArrayPixels, Layout
from lond.data.read.adapters import from_dataset, from_hugging_face, is_saved_dataset, load_saved_dataset
from lond.data.read.labels import make_samples
from lond.data.read.numpy_files import NpzFile
from lond.errors import DataError
from lond.types import Samples

__all__ = [
    "from_arrays",
    "from_dataset",
    "from_hugging_face",
    "is_saved_dataset",
    "load_saved_dataset",
    "npz_has_split",
    "read_npz",
]

IMAGE_KEYS = ("x", "images", "X")
FEATURE_KEYS = ("embeddings", "features")
ID_KEYS = ("ids", "id")
LABEL_KEYS = ("y", "labels")
TRUE_KEYS = ("true_labels", "y_true")


def from_arrays(
    x: object,
    y: object = None,
    class_names: Sequence[str] | None = None,
    true_labels: object = None,
    *,
    split: str = "train",
    layout: Layout = "auto",
) -> Samples:
    """Return images and labels in memory as Samples.

    Labels may be numbers or names. Without ``class_names`` the classes are the distinct labels, sorted, named by
    their digits if they are numbers; with it, numbers are positions in it. ``split="test"`` allows foreign labels.

    Raises:
        DataError: images or labels of an unusable shape, type or range.
    """
    return make_samples(ArrayPixels(x, layout=layout), y, class_names, true_labels, split=split, positions=True)


def read_features(content: Mapping[str, Any], suffixes: Sequence[str]) -> Any | None:
    """Return the embeddings that stand in an ``.npz`` file in place of images, or None."""
    return _pick(content, FEATURE_KEYS, suffixes)


def _pick(content: Mapping[str, Any], keys: Sequence[str], suffixes: Sequence[str]) -> Any | None:
    for suffix in suffixes:
        for key in keys:
            if key + suffix in content:
                return content[key + suffix]
    return None


def _suffixes(content: Mapping[str, Any], split: str) -> list[str]:
    """Return the key endings for a split: ``_train`` and so on if the file is divided, else none."""
    all_names = (*split_names("train"), *split_names("test"))
    divided = any(f"{key}_{name}" in content for key in (*IMAGE_KEYS, *FEATURE_KEYS) for name in all_names)
    return [f"_{name}" for name in split_names(split)] if divided else [""]


def npz_has_split(path: str | Path, split: str) -> bool:
    """Tell whether an ``.npz`` file holds ``split``; an undivided one is for training."""
    with NpzFile(Path(path)) as content:
        suffixes = _suffixes(content, split)
        if suffixes == [""]:
            return is_training(split)
        return any(key + suffix in content for key in (*IMAGE_KEYS, *FEATURE_KEYS) for suffix in suffixes)


def read_npz(path: str | Path, split: str = "train", class_names: Sequence[str] | None = None) -> Samples:
    """Return the images of an ``.npz`` file with keys x/images/X and y/labels, or x_train, y_train, x_test, y_test.

    Also read if present: true_labels/y_true (likewise with _train, _test) and class_names, into which numbers are
    then positions. With ``class_names`` given, foreign labels are allowed. Pickled objects are refused. In place of
    images there may be embeddings/features ``(N, D)`` or, for several views of each image, ``(N, V, D)``, and ids.

    Raises:
        DataError: a key is missing or an array is unusable.
    """
    path = Path(path)
    with NpzFile(path) as content:
        suffixes = _suffixes(content, split)
        images = _pick(content, IMAGE_KEYS, suffixes)
        features = read_features(content, suffixes) if images is None else None
        labels = _pick(content, LABEL_KEYS, suffixes)
        true_labels = _pick(content, TRUE_KEYS, suffixes)
        own_names = content.get("class_names")
        ids = _pick(content, ID_KEYS, suffixes) if features is not None else None
        if images is None and features is None:
            wanted = " or ".join(key + suffixes[0] for key in IMAGE_KEYS)
            raise DataError(f"{path} has no images under {wanted}; its keys are {', '.join(content.files)}")
    meaning = split if class_names is None else "test"
    if own_names is not None and own_names.ndim != 1:
        raise DataError(f"{path}: class_names must be a list of names, not an array of shape {own_names.shape}")
    names = class_names if own_names is None else [str(name) for name in own_names.tolist()]
    positions = None if own_names is None else True
    pixels = ArrayPixels(images) if features is None else FeaturePixels(features)
    samples = make_samples(pixels, labels, names, true_labels, split=meaning, origin=str(path), positions=positions)
    return samples if ids is None else replace(samples, ids=_checked_ids(ids, len(samples), path))


def texts_of(ids: Any, path: Path) -> tuple[str, ...]:
    """Return an array of ids as texts.

    Raises:
        DataError: it is no list.
    """
    if np.ndim(ids) != 1:
        raise DataError(f"the ids of {path} must be a list, not an array of shape {np.shape(ids)}")
    return tuple(str(name) for name in np.asarray(ids).tolist())


def _checked_ids(ids: Any, count: int, path: Path) -> tuple[str, ...]:
    names = texts_of(ids, path)
    if len(names) != count or len(set(names)) != count:
        raise DataError(f"{path} must hold one id of its own for each of its {count} rows, not {len(set(names))}")
    return names
