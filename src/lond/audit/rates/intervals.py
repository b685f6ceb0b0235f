"""Shares with the interval that a count or a likelihood allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
"""How often an interval should hold the truth."""

_DRAWS = 2000
_GRID = 401
_LAST_ODDS = 12.0


@dataclass(frozen=True)
class Estimate:
    """A share in [0, 1] and the interval around it."""

    estimate: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """Return the three numbers by name."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}


def wilson(hits: float, count: int, level: float = LEVEL) -> Estimate | None:
    """Return the share of hits with Wilson's interval; None if nothing was counted.

    ``hits`` may be a sum of values in [0, 1]: their spread is at most that of hits and misses with the same mean, so
    the interval is then wider than need be.
    """
    if count < 1:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = hits / count
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    spread = z / (1 + z * z / count) * math.sqrt(max(0.0, share * (1 - share) / count) + z * z / (4 * count * count))
    return ordered(share, centre - spread, centre + spread)


def choose_cutoff(p_values: Floats) -> float:
    """Return the cut-off above which the p-values are best taken for those of known images.

    A low one takes more foreign images for known, a high one is noisy; the choice is that of least estimated squared
    error over 0.05, 0.10, ..., 0.50 (Storey's rule, with the variance in closed form).
    """
    if not len(p_values):
        return 0.5
    cutoffs = np.arange(1, 11) / 20
    above = (p_values[None, :] > cutoffs[:, None]).mean(axis=1)
    known = above / (1 - cutoffs)
    variance = above * (1 - above) / (len(p_values) * (1 - cutoffs) ** 2)
    return float(cutoffs[np.argmin(variance + (known - np.quantile(known, 0.1)) ** 2)])


def excess_of_small(
    p_values: Floats,
    cutoffs: Floats,
    rng: np.random.Generator,
    *,
    calibration: int | None = None,
    level: float = LEVEL,
) -> Estimate | None:
    """Return ``1 - share above the cut-off / (1 - cut-off)``, the share of p-values that are not uniform (Storey).

    The interval is a bootstrap: the share above the cut-off is drawn from its Beta distribution given the counts, with
    Jeffreys' prior, so that few samples give a wide interval. None if there are no p-values.

    Args:
        p_values: ``(N,)``.
        cutoffs: ``(N,)`` the cut-off for each of them; few different ones, for which the shares are averaged.
        rng: source of the draws.
        calibration: number of known images behind the p-values. The share of known images above a cut-off is then drawn
            too; None takes it for exact.
        level: how often the interval should hold the truth.
    """
    if not len(p_values):
        return None
    values = np.unique(cutoffs)
    tails = _known_above(values, calibration, rng)
    known, drawn = 0.0, np.zeros(_DRAWS)
    for at, cutoff in enumerate(values):
        part = p_values[cutoffs == cutoff]
        above, weight = int((part > cutoff).sum()), len(part) / len(p_values)
        known += weight * above / len(part) / (1 - cutoff)
        drawn += weight * rng.beta(above + 0.5, len(part) - above + 0.5, _DRAWS) / tails[at]
    low, high = np.quantile(1 - drawn, [(1 - level) / 2, (1 + level) / 2])
    return ordered(1 - known, float(low), float(high))


def _known_above(cutoffs: Floats, calibration: int | None, rng: np.random.Generator) -> Floats:
    """Draw the shares of known images above each of ``(K,)`` rising cut-offs, ``(K, draws)``."""
    if calibration is None:
        return np.repeat(1 - cutoffs[:, None], _DRAWS, axis=1)
    # p exceeds a cut-off if the score lies below a certain rank of the calibration scores. What lies between two ranks
    # is a sum of exponential gaps, so that the shares belong together as those of one calibration set do.
    ranks = np.floor(cutoffs * (calibration + 1) + 1e-9)
    steps = np.diff(ranks, prepend=0.0, append=calibration + 1.0)
    gaps = rng.gamma(steps[:, None], size=(len(steps), _DRAWS))
    below: Floats = np.cumsum(gaps, axis=0)[:-1] / gaps.sum(axis=0)
    return 1 - below


def mixed_in_rate(right: Floats, wrong: Floats, level: float = LEVEL) -> Estimate | None:
    """Return the most likely share r of wrong labels among N images with one label; None without images.

    The images are a mix ``(1 - r) right + r wrong`` of two densities. The interval holds the likeliest r.

    Args:
        right: ``(N,)`` how dense images of the class lie at each image, up to a factor common to both.
        wrong: ``(N,)`` the same for images that wrongly carry the label.
        level: how often the interval should hold the truth.
    """
    if not len(right):
        return None
    rates = np.linspace(0, 1, _GRID)
    # Bounded odds: no single image can rule out a rate.
    odds = np.clip(np.log(right.clip(1e-300)) - np.log(wrong.clip(1e-300)), -_LAST_ODDS, _LAST_ODDS)
    shares = 1 / (1 + np.exp(-odds))
    likelihood = np.log(np.outer(1 - rates, shares) + np.outer(rates, 1 - shares)).sum(axis=1)
    weights = np.exp(likelihood - likelihood.max())
    return likeliest(rates, weights, level)


def likeliest(values: Floats, weights: Floats, level: float = LEVEL) -> Estimate:
    """Return the likeliest of rising values, and the interval of the likeliest ones that together reach the level.

    A central interval would leave out the end of a range even if that is the likeliest value.
    """
    order = np.argsort(-weights, kind="stable")
    reached = int(np.searchsorted(np.cumsum(weights[order]), level * weights.sum())) + 1
    chosen = values[order[:reached]]
    return ordered(float(values[order[0]]), float(chosen.min()), float(chosen.max()))


def ordered(estimate: float, low: float, high: float) -> Estimate:
    """Return the estimate with its interval, both brought into [0, 1] and the interval stretched to the estimate."""
    estimate, low, high = (min(1.0, max(0.0, value)) for value in (estimate, low, high))
    return Estimate(estimate, min(low, estimate), max(high, estimate))
