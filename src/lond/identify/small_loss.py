"""The small-loss rule: samples that a young network finds easy are probably labelled right."""

from __future__ import annotations

import torch
from torch import Tensor


def drop_rate(epoch: int, rate: float, ramp_epochs: int, exponent: float = 1.0) -> float:
    """Return the share of each batch to discard, ``R(t) = tau * min(1, t^c / (T_k - 1))``.

    At c = 1 it rises from 0 to tau in T_k - 1 equal steps.

    Args:
        epoch: t, counted from 0.
        rate: tau, the assumed noise rate, which the ramp ends at.
        ramp_epochs: T_k, epochs from the start of the ramp until tau is reached, both counted; 0 = tau at once.
        exponent: c > 0.

    Examples:
        >>> [drop_rate(epoch, 0.4, ramp_epochs=5) for epoch in (0, 2, 9)]
        [0.0, 0.2, 0.4]
    """
    if not ramp_epochs:
        return rate
    # A ramp of one epoch has no step to divide: it is 0 in that epoch and tau from the next one on.
    return rate * min(1.0, float(epoch**exponent) / max(1, ramp_epochs - 1))


def kept_count(size: int, rate: float) -> int:
    """Return ``floor((1 - R) * B)``: how many of B samples are kept at drop rate R; may be 0.

    Examples:
        >>> kept_count(128, 0.25)
        96
    """
    # The small term undoes the float error of products such as (1 - 0.9) * 10.
    return int((1 - rate) * size + 1e-9)


def smallest(losses: Tensor, count: int) -> Tensor:
    """Return the mask ``(B,)`` of the ``count`` (at most all) smallest losses ``(B,)``; ties go to the lower index.

    Examples:
        >>> smallest(torch.tensor([3.0, 1.0, 2.0]), 2).tolist()
        [False, True, True]
    """
    chosen = torch.zeros_like(losses, dtype=torch.bool)
    chosen[losses.argsort(stable=True)[:count]] = True
    return chosen
