"""Families of label noise: pure functions from true labels to given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.noise_bench.sources import Floats, Ints
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

FAMILIES = ("none", "uniform", "pair", "superclass", "weak")
"""Made noise; labels by people are the family "people", which is read and not made."""

WEAK_DIRECTIONS, WEAK_SHOTS, WEAK_SCALE = 24, 15, 12.0


def corrupt(
    features: Floats, true: Ints, classes: int, groups: Ints, family: str, rate: float, random: np.random.Generator
) -> Ints:
    """Return labels of which about a share ``rate`` is wrong.

    "uniform" draws any other class, "pair" takes the next one, "superclass" another class of the same group
    (``groups`` ``(C,)``; a class alone in its group keeps its labels), and "weak" errs where a weak model errs.
    """
    if family not in FAMILIES:
        raise ValueError(f"there is no family of noise {family!r}; choose one of {', '.join(FAMILIES)}")
    if family == "none" or rate <= 0:
        return true.copy()
    if family == "weak":
        return _as_a_weak_model(features, true, classes, rate, random)
    flipped = np.flatnonzero(random.random(len(true)) < rate)
    given = true.copy()
    if family == "uniform":
        given[flipped] = (true[flipped] + random.integers(1, classes, len(flipped))) % classes
    elif family == "pair":
        given[flipped] = (true[flipped] + 1) % classes
    else:
        for row in flipped:
            mates = np.flatnonzero((groups == groups[true[row]]) & (np.arange(classes) != true[row]))
            given[row] = random.choice(mates) if len(mates) else true[row]
    return given


def _as_a_weak_model(features: Floats, true: Ints, classes: int, rate: float, random: np.random.Generator) -> Ints:
    """Return labels that are wrong where, and in the way that, a weak model is unsure."""
    rows = np.arange(len(true))
    chances = weak_probabilities(features, true, classes, random)
    hard = np.clip(1 - chances[rows, true], 1e-6, 1 - 1e-6)
    chances[rows, true] = 0
    flipped = random.random(len(true)) < scaled_to(hard, rate)
    return np.where(flipped, draw(chances, random), true)


def scaled_to(chances: Doubles, rate: float) -> Doubles:
    """Return chances whose odds are multiplied by one factor so that their mean is ``rate``."""
    low, high = 1e-9, 1e9
    for _ in range(80):
        factor = np.sqrt(low * high)
        scaled = factor * chances / (factor * chances + 1 - chances)
        low, high = (factor, high) if scaled.mean() < rate else (low, factor)
    return np.asarray(scaled)


def draw(chances: Doubles, random: np.random.Generator) -> Ints:
    """Return one class per row of ``chances`` ``(N, C)``, which need not sum to one."""
    total = chances.cumsum(axis=1)
    return (total <= random.random((len(chances), 1)) * total[:, -1:]).sum(axis=1).clip(0, chances.shape[1] - 1)


def weak_probabilities(features: Floats, true: Ints, classes: int, random: np.random.Generator) -> Doubles:
    """Return what a weak model thinks of every row: means of few images per class in few principal directions.

    Rows of true class -1 are judged, not learned from.
    """
    centred = features.astype(np.float64) - features.mean(axis=0)
    some = centred[random.choice(len(features), min(len(features), 500), replace=False)]
    # Principal directions through the small Gram matrix.
    values, vectors = np.linalg.eigh(some @ some.T)
    count = min(WEAK_DIRECTIONS, len(some) - 1)
    directions = some.T @ (vectors[:, -count:] / np.sqrt(np.maximum(values[-count:], 1e-9)))
    small = unit(centred @ directions)
    means = np.zeros((classes, count))
    for own in range(classes):
        members = random.permutation(np.flatnonzero(true == own))[:WEAK_SHOTS]
        if len(members):
            means[own] = small[members].mean(axis=0)
    logits = WEAK_SCALE * small @ unit(means).T
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def unit(values: NDArray[Any]) -> NDArray[Any]:
    """Return the rows at length one."""
    return np.asarray(values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-9))


def labels_of_foreign(
    foreign: Floats,
    kinds: Ints,
    known: Floats,
    true: Ints,
    classes: int,
    how: str,
    random: np.random.Generator,
) -> Ints:
    """Return given labels of foreign images.

    "uniform" draws any class, "class" one class per kind of foreign image, "similar" what a weak model takes it for.
    """
    if how == "uniform":
        return random.integers(0, classes, len(foreign))
    if how == "class":
        table = {kind: random.integers(0, classes) for kind in np.unique(kinds)}
        return np.array([table[kind] for kind in kinds], dtype=np.int64)
    if how != "similar":
        raise ValueError(f"foreign images are labelled uniform, similar or class, not {how!r}")
    everything = np.concatenate([known, foreign])
    truths = np.concatenate([true, np.full(len(foreign), -1)])
    return draw(weak_probabilities(everything, truths, classes, random)[len(known) :], random)
