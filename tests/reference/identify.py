"""Eq. 7-12 as loops over samples and classes; shares and quantiles in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def neighbours(bank: np.ndarray, k: int, include_self: bool) -> list[list[int]]:
    """For every row, the k rows of largest inner product, most similar first; ties go to the lower index."""
    found = []
    for i, z in enumerate(bank):
        candidates = [j for j in range(len(bank)) if include_self or j != i]
        candidates.sort(key=lambda j: (-float(np.dot(z, bank[j])), j))
        found.append(candidates[:k])
    return found


def neighbour_labels(bank: np.ndarray, near: Sequence[Sequence[int]], positives: np.ndarray, tau: float) -> np.ndarray:
    """Eq. 7: the neighbours' own normalised probabilities, weighted by exp(z_i . z_j / tau)."""
    classes = positives.shape[1]
    rows = []
    for i, ids in enumerate(near):
        raw = [math.exp(float(np.dot(bank[i], bank[j])) / tau) for j in ids]
        row = [0.0] * classes
        for weight, j in zip(raw, ids, strict=True):
            total = math.fsum(positives[j])
            for c in range(classes):
                row[c] += weight / math.fsum(raw) * (positives[j][c] / total if total > 0 else 0.0)
        mass = math.fsum(row)
        rows.append([x / mass if mass > 0 else 0.0 for x in row])
    return np.array(rows)


def neighbour_margin(q: np.ndarray, labels: Sequence[int], top: int) -> np.ndarray:
    """Eq. 8."""
    margins = []
    for row, y in zip(q, labels, strict=True):
        own = row[y] if y >= 0 else 0.0
        others = sorted((row[c] for c in range(len(row)) if c != y), reverse=True)
        best = others[: min(top, len(row) - 1)]
        margins.append(min(max(own, 0.01), 0.99) - math.fsum(best) / len(best))
    return np.array(margins)


def agreement_counts(q: np.ndarray, labels: Sequence[int]) -> list[int]:
    """How many samples of each class have neighbours that vote for the given label."""
    counts = [0] * q.shape[1]
    for row, y in zip(q, labels, strict=True):
        vote = max(range(len(row)), key=lambda c: (row[c], -c))
        if vote == y:
            counts[y] += 1
    return counts


def quantile(counts: Sequence[int], alpha: str) -> int:
    """Quantile by linear interpolation, rounded down; at one half the lower median. ``alpha`` is a decimal string."""
    ordered = sorted(counts)
    if Fraction(alpha) == Fraction(1, 2):
        return ordered[(len(ordered) - 1) // 2]
    position = Fraction(alpha) * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return math.floor(ordered[below] + (position - below) * (ordered[above] - ordered[below]))


def select_clean(margins: Sequence[float], labels: Sequence[int], classes: int, quota: int) -> list[bool]:
    """Eq. 9 with ">=": each class keeps its quota of largest margins; ties go to the lower index."""
    clean = [False] * len(labels)
    for c in range(classes):
        members = sorted((i for i, y in enumerate(labels) if y == c), key=lambda i: (-margins[i], i))
        for i in members[:quota]:
            clean[i] = True
    return clean


def negative_margin(positives: np.ndarray, labels: Sequence[int]) -> np.ndarray:
    """Eq. 10, from the positive probabilities."""
    margins = []
    for row, y in zip(positives, labels, strict=True):
        negatives = [1 - float(p) for p in row]
        margins.append(abs(negatives[y] - max(negatives[c] for c in range(len(row)) if c != y)))
    return np.array(margins)


def select_open(margins: Sequence[float], clean: Sequence[bool], share: str) -> list[bool]:
    """Eq. 11: the share (decimal string) of the samples that are not clean with the smallest margin, rounded down."""
    rest = sorted((i for i, good in enumerate(clean) if not good), key=lambda i: (margins[i], i))
    chosen = set(rest[: math.floor(Fraction(share) * len(rest))])
    return [i in chosen for i in range(len(clean))]


def weights(q: np.ndarray, labels: Sequence[int], clean: Sequence[bool], is_open: Sequence[bool]) -> np.ndarray:
    """Eq. 12 with the margin against the single best other class, its maximum over the closed set."""
    margins = neighbour_margin(q, labels, 1)
    closed = [i for i in range(len(labels)) if not clean[i] and not is_open[i]]
    largest = max((margins[i] for i in closed), default=0.0)
    return np.array(
        [1.0 if clean[i] else 0.0 if is_open[i] else (margins[i] + 1) / (largest + 1) for i in range(len(labels))]
    )


def identify(
    labels: Sequence[int],
    positives: np.ndarray,
    embeddings: np.ndarray,
    *,
    k: int,
    top: int,
    alpha_id: str,
    alpha_ood: str,
    tau: float,
    include_self: bool,
) -> dict[str, np.ndarray]:
    """All of it, in the order of the method sheet."""
    z = np.array([row / math.sqrt(math.fsum(row * row)) for row in embeddings])
    q = neighbour_labels(z, neighbours(z, k, include_self), positives, tau)
    vote = [max(range(len(row)), key=lambda c, row=row: (row[c], -c)) for row in q]
    margins = neighbour_margin(q, labels, top)
    clean = select_clean(margins, labels, positives.shape[1], quantile(agreement_counts(q, labels), alpha_id))
    negative = negative_margin(positives, [y if y >= 0 else v for y, v in zip(labels, vote, strict=True)])
    is_open = select_open(negative, clean, alpha_ood)
    closed = [not a and not b for a, b in zip(clean, is_open, strict=True)]
    return {
        "clean": np.array(clean),
        "closed": np.array(closed),
        "open": np.array(is_open),
        "weights": weights(q, labels, clean, is_open),
        "corrected": np.array([v if c or y < 0 else y for y, v, c in zip(labels, vote, closed, strict=True)]),
        "neighbour_margin": margins,
        "negative_margin": negative,
    }
