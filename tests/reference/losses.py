"""Eq. 1-6 and 13 as loops over samples, classes and pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np


def log_softmax(logits: Sequence[float]) -> list[float]:
    """Logarithm of the softmax of one row."""
    largest = max(logits)
    log_sum = largest + math.log(math.fsum(math.exp(x - largest) for x in logits))
    return [x - log_sum for x in logits]


def softmax(logits: Sequence[float]) -> list[float]:
    """Softmax of one row."""
    return [math.exp(x) for x in log_softmax(logits)]


def one_vs_all(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Eq. 2 with soft targets: a two-way softmax a class; index 1 is "belongs", index 0 "does not"."""
    losses = []
    for row, target in zip(logits, targets, strict=True):
        total = 0.0
        for pair, t in zip(row, target, strict=True):
            log_no, log_yes = log_softmax([float(pair[0]), float(pair[1])])
            total -= t * log_yes + (1 - t) * log_no
        losses.append(total)
    return np.array(losses)


def one_vs_all_probabilities(logits: np.ndarray) -> np.ndarray:
    """The two probabilities of each class, (B, C, 2)."""
    return np.array([[softmax([float(a), float(b)]) for a, b in row] for row in logits])


def consistency(strong: np.ndarray, weak: np.ndarray) -> np.ndarray:
    """Eq. 6: both j = 0 and j = 1 are summed."""
    p, q = one_vs_all_probabilities(strong), one_vs_all_probabilities(weak)
    samples, classes, _ = p.shape
    return np.array(
        [sum((p[i, c, j] - q[i, c, j]) ** 2 for c in range(classes) for j in (0, 1)) for i in range(samples)]
    )


def prototype_loss(embeddings: np.ndarray, prototypes: np.ndarray, targets: np.ndarray, tau: float) -> np.ndarray:
    """Eq. 1 with soft targets."""
    losses = []
    for z, target in zip(embeddings, targets, strict=True):
        logits = [math.fsum(a * b for a, b in zip(z, p, strict=True)) / tau for p in prototypes]
        losses.append(-math.fsum(t * lp for t, lp in zip(target, log_softmax(logits), strict=True)))
    return np.array(losses)


def sharpen(probabilities: np.ndarray, exponents: Sequence[float]) -> np.ndarray:
    """Second line of Eq. 13; 0 ** 0 is 1, as Python has it."""
    rows = []
    for p, a in zip(probabilities, exponents, strict=True):
        powers = [float(x) ** float(a) for x in p]
        rows.append([x / math.fsum(powers) for x in powers])
    return np.array(rows)


def pseudo_label_loss(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """First line of Eq. 13."""
    return np.array(
        [
            math.fsum((p - t) ** 2 for p, t in zip(softmax(row), target, strict=True))
            for row, target in zip(logits, targets, strict=True)
        ]
    )


def contrastive(
    embeddings: np.ndarray,
    identities: Sequence[int],
    labels: Sequence[int],
    weights: Sequence[float],
    tau: float,
) -> np.ndarray:
    """Eq. 4-5, weight times log-ratio: one anchor, one positive at a time."""
    views = len(embeddings)
    losses = []
    for i in range(views):
        dots = [float(np.dot(embeddings[i], embeddings[r])) / tau for r in range(views)]
        others = [r for r in range(views) if r != i]
        largest = max(dots[r] for r in others)
        log_denominator = largest + math.log(math.fsum(math.exp(dots[r] - largest) for r in others))
        total, count = 0.0, 0.0
        for j in others:
            log_ratio = dots[j] - log_denominator
            if identities[j] == identities[i]:
                total -= log_ratio
            elif labels[j] == labels[i]:
                pair = float(weights[i]) * float(weights[j])
                total -= pair * log_ratio
                count += pair
        losses.append(total / (1 + count))
    return np.array(losses)


def mixed_contrastive(
    embeddings: np.ndarray,
    labels: Sequence[int],
    weights: Sequence[float],
    mixes: Sequence[tuple[float, Sequence[int]]],
    tau: float,
    *,
    pairs: str = "major",
    as_released: bool = False,
) -> np.ndarray:
    """One anchor, one of its two partners and one other view at a time.

    Row b of a view shows sample b at its ratio and partners[b] at 1 - ratio. ``as_released`` adds what the authors'
    program counts besides: whoever shows the sample is a class positive, too, and so counts twice; and the other view
    of the anchor's own row, if its label fits the minor partner's, has weight 1.
    """
    size = len(labels)
    views = [(view, row) for view in range(len(mixes)) for row in range(size)]
    losses = []
    for at, (view, row) in enumerate(views):
        ratio, partners = mixes[view]
        dots = [float(np.dot(embeddings[at], z)) / tau for z in embeddings]
        others = [r for r in range(len(views)) if r != at]
        largest = max(dots[r] for r in others)
        log_denominator = largest + math.log(math.fsum(math.exp(dots[r] - largest) for r in others))
        loss = 0.0
        for is_minor, share in ((False, ratio), (True, 1 - ratio)):
            sample = int(partners[row]) if is_minor else row
            total, count = 0.0, 0.0
            for r in others:
                other_view, other_row = views[r]
                shows = int(mixes[other_view][1][other_row]) if is_minor and pairs == "minor" else other_row
                fits = labels[shows] == labels[sample]
                weight = float(weights[sample]) * float(weights[shows]) * fits
                if as_released and other_row == row:
                    weight = float(fits)
                if shows == sample:
                    weight = 1 + weight if as_released else 1.0
                total -= weight * (dots[r] - log_denominator)
                count += weight
            loss += share * total / count if count else 0.0
        losses.append(loss)
    return np.array(losses)


def numerical_gradient(function: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences, one coordinate at a time, in double precision."""
    gradient = np.zeros_like(at, dtype=np.float64)
    for index in np.ndindex(*at.shape):
        ahead, behind = at.astype(np.float64), at.astype(np.float64)
        ahead[index] += step
        behind[index] -= step
        gradient[index] = (function(ahead) - function(behind)) / (2 * step)
    return gradient
