"""How much of a set is wrong: means of probabilities, with what chance and unknown kinds of noise leave open."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor

from lond.crossfit.chances import Spread

QUANTILE = 1.96
"""Of the normal distribution, for intervals of 95 %."""


class EstimatedRate(NamedTuple):
    """An estimated share with the ends of its interval."""

    estimate: float
    low: float
    high: float


def rate_of(chances: Tensor, spread: Spread, open_ones: Tensor) -> EstimatedRate:
    """Return the mean of probabilities ``(N,)``, N >= 1, as a rate.

    The interval holds what chance leaves open, and how far rates were off on sets whose truth is known (``spread``):
    which noise a set has cannot be known from the set alone. Only ``open_ones`` ``(N,)`` are in doubt; the others, on
    which a person decided, count as they are.
    """
    exact, known = chances.double(), chances[~open_ones].double()
    mean, sure, share = float(exact.mean()), float(known.sum()) / len(exact), float(open_ones.double().mean())
    if not share:
        return EstimatedRate(mean, mean, mean)
    doubt = doubt_in(exact[open_ones])
    luck = QUANTILE * doubt / math.sqrt(int(open_ones.sum()))
    below, above = (share * math.hypot(max(0.0, offset + slope * doubt), luck) for offset, slope in spread)
    return EstimatedRate(mean, max(sure, mean - below), min(sure + share, mean + above))


def doubt_in(chances: Tensor) -> float:
    """Return how unsure probabilities ``(N,)`` are, from 0 to 1/2: the root of the mean of p (1 - p)."""
    return float((chances * (1 - chances)).mean().clamp_min(0).sqrt())
