"""Conformal p-values: how unusual a score is among those of known samples."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.errors import DataError


def p_values(scores: Tensor, known_scores: Tensor) -> Tensor:
    """Return ``(1 + #{known scores >= s}) / (n + 1)`` for every score s.

    If an image is known and exchangeable with the n calibration samples, its p-value is at most a with probability at
    most a, whatever the distribution of the scores. ``p <= a`` says the same as a score above ``threshold_at(., a)``.

    Args:
        scores: ``(M,)``; larger = more foreign.
        known_scores: ``(n,)`` scores of known samples that were not trained on.

    Returns:
        ``(M,)`` p-values in (0, 1], float64; small = foreign.

    Raises:
        DataError: there are no known scores, or one is not finite.
    """
    if not len(known_scores):
        raise DataError("p-values need scores of known samples; there are none")
    if not known_scores.isfinite().all():
        raise DataError("a score of a known sample is not finite; check for a diverged model")
    ordered = known_scores.sort().values
    below = torch.searchsorted(ordered, scores.to(ordered).contiguous())
    return (1 + len(ordered) - below).double() / (len(ordered) + 1)
