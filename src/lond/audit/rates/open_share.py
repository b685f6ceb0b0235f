"""The share of foreign images, told by labels that agree with the prediction less often than those of known images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lond.audit.rates.confidence import expected_agreement
from lond.audit.rates.intervals import LEVEL, Estimate, Floats, ordered

GROUPS, STRATA, FEWEST = 10, 4, 100
"""Groups of images next to each other, parts of a group by confidence, and images in each part; fewer of a few."""

_DRAWS = 2000
_LEAST_LIFT = 0.02


def missing_agreement(
    agrees: NDArray[np.bool_],
    confidence: Floats,
    chance: Floats,
    rates: Floats,
    classes: int,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> Estimate | None:
    """Return the share of images whose labels agree with the prediction only by chance.

    Known images agree in a share a = (1 - r) m + r (1 - m) / (C - 1) of cases, where m is the confidence and r the rate
    of wrong labels; foreign images in the share c of the label among all. A group of alike images, of which a share s
    agrees, therefore holds (s - c) / (a - c) known ones. Alike means in the order given and in confidence, as foreign
    images may be surer, or less sure, than the known ones beside them. The interval is a bootstrap over counts and
    rates.

    Args:
        agrees: ``(N,)`` whether label and prediction agree; in an order that puts alike images together.
        confidence: ``(N,)`` of the predictions, calibrated for known images.
        chance: ``(N,)`` share of the predicted class among the labels.
        rates: draws of r, the first one being its estimate.
        classes: C.
        rng: source of the draws.
        level: how often the interval should hold the truth.

    Returns:
        None where known images would hardly agree more often than others.
    """
    if classes < 2 or not len(agrees):
        return None
    slots = _slots(confidence)
    drawn = np.concatenate([rates[:1], rng.choice(rates, _DRAWS)])
    known = np.zeros(len(drawn))
    pending = np.empty(0, dtype=np.int64)
    for slot in slots:
        pending = np.concatenate([pending, slot])
        lift = _lift(confidence[pending], chance[pending], drawn, classes)
        if lift[0] < _LEAST_LIFT and slot is not slots[-1]:
            continue
        if lift[0] < _LEAST_LIFT:
            return None
        hits = int(agrees[pending].sum())
        shares = rng.beta(hits + 0.5, len(pending) - hits + 0.5, len(drawn))
        shares[0] = hits / len(pending)
        known += len(pending) / len(agrees) * (shares - chance[pending].mean()) / lift.clip(1e-3)
        pending = pending[:0]
    low, high = np.quantile(1 - known[1:], [(1 - level) / 2, (1 + level) / 2])
    return ordered(float(1 - known[0]), float(low), float(high))


def _slots(confidence: Floats) -> list[NDArray[np.int64]]:
    """Return the places of alike images: groups of neighbours in the order, cut by confidence, the least sure first."""
    count = len(confidence)
    groups = np.array_split(np.arange(count), min(GROUPS, max(1, count // (STRATA * FEWEST))))
    return [
        part
        for group in groups
        for part in np.array_split(
            group[np.argsort(confidence[group], kind="stable")], min(STRATA, max(1, len(group) // FEWEST))
        )
    ]


def _lift(confidence: Floats, chance: Floats, rates: Floats, classes: int) -> Floats:
    """Return by how much known images agree more often than by chance, for every rate."""
    return expected_agreement(confidence.mean(keepdims=True), rates, classes) - float(chance.mean())
