"""What a user hands to the estimator, turned into samples and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from lond.data.read.labels import read_names
from lond.data.sources import load
from lond.errors import DataError
from lond.runs.data import in_memory
from lond.types import Samples


def training_set(images: Any, labels: Any, true_labels: Any) -> tuple[Samples, np.ndarray]:
    """Return the samples, and the classes in the user's own values.

    Raises:
        DataError: an array without labels, labels beside something that has its own, or unusable ones.
    """
    is_array = isinstance(images, list | np.ndarray | Tensor)
    if labels is None and is_array:
        raise DataError("images in an array need their labels y")
    if not is_array and (labels is not None or true_labels is not None):
        kind = type(images).__name__
        raise DataError(f"y and true_labels belong to arrays of images; a {kind} brings its own labels")
    if not is_array:
        samples = in_memory(load(images))
        return samples, np.array(samples.class_names)
    samples = load((images, labels) if true_labels is None else (images, labels, true_labels))
    values: dict[str | None, Any] = {}
    for name, value in zip(read_names(labels).values, getattr(labels, "tolist", lambda: labels)(), strict=True):
        values.setdefault(name, value)
    return samples, class_array([values[name] for name in samples.class_names])


def class_array(classes: list[Any]) -> np.ndarray:
    """Return an array that keeps each value as it is: NumPy would turn numbers beside names into text."""
    return np.array(classes, dtype=object if len({type(value) for value in classes}) > 1 else None)
