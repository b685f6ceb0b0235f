"""Whether probabilities mean what they say."""

from __future__ import annotations

import math

import torch

from lond.evaluate.arrays import Values, as_classes, as_tensor

ROUNDING = 1e-3
"""How far a probability may exceed 1: half precision rounds as coarsely."""


def expected_calibration_error(probabilities: Values, labels: Values, bins: int = 15) -> float:
    """Return the expected calibration error (ECE): the mean gap between confidence and accuracy over equal-width bins.

    A bin holds confidences in ``(lower, upper]``, the first one also 0; empty bins do not count.

    Args:
        probabilities: ``(N, C)``, rows sum to one.
        labels: ``(N,)`` true classes; rows below 0 (foreign, unlabelled) are ignored.
        bins: number of bins.

    Returns:
        A number in [0, 1]; NaN if no sample is known.

    Raises:
        ValueError: the lengths differ, a value is no probability, or there is no bin.

    Examples:
        >>> round(expected_calibration_error([[0.9, 0.1], [0.2, 0.8]], [0, 1]), 2)
        0.15
    """
    probabilities, labels = as_tensor(probabilities, "probabilities"), as_classes(labels, "labels")
    if bins < 1:
        raise ValueError(f"there must be at least one bin, not {bins}")
    if probabilities.ndim != 2 or labels.shape != probabilities.shape[:1]:
        raise ValueError(
            f"probabilities (N, C) and labels (N,) of shapes {(*probabilities.shape,)}, {(*labels.shape,)}"
        )
    labels = labels.to(probabilities.device)
    known = labels >= 0
    if not known.any():
        return math.nan
    values = probabilities[known].double()
    # NaN fails this comparison too; sums of rounded shares may exceed 1 a little.
    if not bool(((values >= 0) & (values <= 1 + ROUNDING)).all()):
        raise ValueError("probabilities must lie in [0, 1]; apply a softmax to logits first")
    confidence, predicted = values.max(dim=1)
    hits = (predicted == labels[known]).double()
    index = (confidence * bins).ceil().long().clamp(1, bins) - 1
    gaps = torch.zeros(bins, dtype=torch.float64).index_add_(0, index.cpu(), (hits - confidence).cpu())
    return float(gaps.abs().sum() / len(hits))
