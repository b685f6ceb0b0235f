"""Top-1 accuracy over the known classes; foreign and unlabelled images take no part."""

from __future__ import annotations

import math

from torch import Tensor

from lond.evaluate.arrays import Values, as_classes


def accuracy(predicted: Values, labels: Values) -> float:
    """Return the share of known-class samples that are predicted correctly.

    Args:
        predicted: ``(N,)`` int64 predicted classes.
        labels: ``(N,)`` int64 true classes; rows below 0 (foreign, unlabelled) are ignored.

    Returns:
        A share in [0, 1], or NaN when no row has a known class.

    Examples:
        >>> accuracy([0, 1, 1], [0, 1, 0])
        0.6666666666666666

    Raises:
        ValueError: the shapes differ or are others, or the classes are no whole numbers.
    """
    hits, _ = _known_hits(predicted, labels)
    return float(hits.double().mean()) if len(hits) else math.nan


def balanced_accuracy(predicted: Values, labels: Values) -> float:
    """Return the mean over classes of the share of samples that are predicted correctly.

    Classes without a sample in ``labels`` do not count.

    Args:
        predicted: ``(N,)`` int64 predicted classes.
        labels: ``(N,)`` int64 true classes; rows below 0 (foreign, unlabelled) are ignored.

    Returns:
        A share in [0, 1], or NaN when no row has a known class.

    Raises:
        ValueError: the shapes differ or are others, or the classes are no whole numbers.

    Examples:
        >>> balanced_accuracy([0, 0, 0, 1], [0, 0, 1, 1])
        0.75
    """
    hits, known = _known_hits(predicted, labels)
    if not len(hits):
        return math.nan
    sizes = known.bincount()
    right = known.bincount(weights=hits.double())
    present = sizes > 0
    return float((right[present] / sizes[present]).mean())


def _known_hits(predicted: Values, labels: Values) -> tuple[Tensor, Tensor]:
    """Return, for the K known-class rows, the ``(K,)`` hits and the ``(K,)`` labels."""
    predicted, labels = as_classes(predicted, "predicted"), as_classes(labels, "labels")
    if predicted.shape != labels.shape or labels.dim() != 1:
        raise ValueError(
            f"predicted and labels must be (N,) and equally long: {tuple(predicted.shape)}, {tuple(labels.shape)}"
        )
    known = labels >= 0
    return predicted.to(labels.device)[known] == labels[known], labels[known]
