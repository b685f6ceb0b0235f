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


def rate_of(chances: Tensor, spread: Spread) -> EstimatedRate:
    """Return the mean of probabilities ``(N,)``, N >= 1, as a rate.

    The interval holds what chance leaves open, and how far rates were off on sets whose truth is known (``spread``):
    which noise a set has cannot be known from the set alone.
    """
    exact = chances.double()
    mean, doubt = float(exact.mean()), doubt_in(exact)
    luck = QUANTILE * doubt / math.sqrt(len(chances))
    below, above = (math.hypot(max(0.0, offset + slope * doubt), luck) for offset, slope in spread)
    return EstimatedRate(mean, max(0.0, mean - below), min(1.0, mean + above))


def doubt_in(chances: Tensor) -> float:
    """Return how unsure probabilities ``(N,)`` are, from 0 to 1/2: the root of the mean of p (1 - p)."""
    return float((chances * (1 - chances)).mean().clamp_min(0).sqrt())
