"""Conversion of the estimator's input into samples and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from lond.data.feature_views import FeaturePixels
from lond.data.read.labels import make_samples, read_names
from lond.data.sources import load
from lond.errors import DataError
from lond.types import Samples

FLOATS = [np.float32, np.float64, np.float16]
"""Kinds of numbers that features are kept in; others become the first."""


def is_table(given: Any) -> bool:
    """Tell whether this is one row of numbers per image: a matrix, a data frame, or lists of numbers."""
    shape = getattr(given, "shape", None)
    if shape is None and (isinstance(given, list | tuple) or hasattr(given, "__array__")):
        try:
            shape = np.asarray(given).shape
        except ValueError:
            return False
    return shape is not None and len(shape) == 2


def training_set(images: Any, labels: Any, true_labels: Any) -> tuple[Samples, np.ndarray]:
    """Return the samples, not decoded yet if they are files, and the classes in the user's own values.

    Raises:
        DataError: an array without labels, labels beside something that has its own, or unusable ones.
    """
    is_array = isinstance(images, list | np.ndarray | Tensor)
    if labels is None and is_array:
        raise DataError("images in an array need their labels y: fit requires y to be passed, but the target y is None")
    if not is_array and (labels is not None or true_labels is not None):
        kind = type(images).__name__
        raise DataError(f"y and true_labels belong to arrays of images; a {kind} brings its own labels")
    if not is_array:
        samples = load(images)
        return samples, np.array(samples.class_names)
    labels = one_label_each(
        np.asarray(labels) if hasattr(labels, "__array__") and not isinstance(labels, Tensor) else labels
    )
    samples = load((images, labels) if true_labels is None else (images, labels, true_labels))
    values: dict[str | None, Any] = {}
    for name, value in zip(read_names(labels).values, getattr(labels, "tolist", lambda: labels)(), strict=True):
        values.setdefault(name, value)
    classes = class_array([values[name] for name in samples.class_names])
    own = getattr(labels, "dtype", None)
    # A column with missing labels is of floats or objects, which says nothing about the classes.
    narrower = isinstance(own, np.dtype) and own.kind in "iu" and classes.dtype.kind in "iu"
    return samples, classes.astype(own) if narrower else classes


def one_label_each(labels: Any) -> Any:
    """Return labels ``(N,)``; a column becomes one, with scikit-learn's warning, and measurements are refused.

    Raises:
        ValueError: they are a table, or measured values rather than classes.
    """
    if len(getattr(labels, "shape", ())) == 2:
        labels = column_or_1d(labels, warn=True)
    kind = getattr(getattr(labels, "dtype", None), "kind", "")
    if kind == "f" and np.isfinite(labels).all():
        check_classification_targets(labels)
    return labels


def new_table(table: np.ndarray, class_names: tuple[str, ...]) -> Samples:
    """Return features ``(N, D)`` that a trained model is asked about."""
    return make_samples(FeaturePixels(table), None, class_names)


def class_array(classes: list[Any]) -> np.ndarray:
    """Return an array that keeps each value as it is: NumPy would turn numbers beside names into text."""
    return np.array(classes, dtype=object if len({type(value) for value in classes}) > 1 else None)
