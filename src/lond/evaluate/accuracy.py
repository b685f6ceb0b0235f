"""Top-1 accuracy over the known classes; foreign and unlabelled images take no part."""

from __future__ import annotations

import math

from torch import Tensor


def accuracy(predicted: Tensor, labels: Tensor) -> float:
    """Return the share of known-class samples whose predicted class is right.

    Args:
        predicted: ``(N,)`` int64 predicted classes.
        labels: ``(N,)`` int64 true classes; rows below 0 (foreign, unlabelled) are ignored.

    Returns:
        A share in [0, 1], or NaN when no row has a known class.
    """
    hits, _ = _known_hits(predicted, labels)
    return float(hits.double().mean()) if len(hits) else math.nan


def balanced_accuracy(predicted: Tensor, labels: Tensor) -> float:
    """Return the mean over classes of the share of their samples that is predicted right.

    Classes without a sample in ``labels`` do not count.

    Args:
        predicted: ``(N,)`` int64 predicted classes.
        labels: ``(N,)`` int64 true classes; rows below 0 (foreign, unlabelled) are ignored.

    Returns:
        A share in [0, 1], or NaN when no row has a known class.
    """
    hits, known = _known_hits(predicted, labels)
    if not len(hits):
        return math.nan
    sizes = known.bincount()
    right = known.bincount(weights=hits.double())
    present = sizes > 0
    return float((right[present] / sizes[present]).mean())


def _known_hits(predicted: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return, for the K known-class rows, the ``(K,)`` hits and the ``(K,)`` labels."""
    if predicted.shape != labels.shape or labels.dim() != 1:
        raise ValueError(
            f"predicted and labels must be (N,) and equally long: {tuple(predicted.shape)}, {tuple(labels.shape)}"
        )
    known = labels >= 0
    return predicted[known] == labels[known], labels[known]
