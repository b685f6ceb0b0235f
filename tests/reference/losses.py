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
) -> np.ndarray:
    """Each view keeps its own (ratio, partners); a view shows sample b at ratio, and partners[b] at 1 - ratio."""
    size = len(labels)
    majors = [b for _ in mixes for b in range(size)]
    minors = [int(partners[b]) for _, partners in mixes for b in range(size)]
    ratios = [ratio for ratio, _ in mixes for _ in range(size)]
    terms = [
        contrastive(embeddings, shown, [labels[s] for s in shown], [weights[s] for s in shown], tau)
        for shown in (majors, minors)
    ]
    return np.array([r * a + (1 - r) * b for r, a, b in zip(ratios, *terms, strict=True)])


def numerical_gradient(function: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences, one coordinate at a time, in double precision."""
    gradient = np.zeros_like(at, dtype=np.float64)
    for index in np.ndindex(*at.shape):
        ahead, behind = at.astype(np.float64), at.astype(np.float64)
        ahead[index] += step
        behind[index] -= step
        gradient[index] = (function(ahead) - function(behind)) / (2 * step)
    return gradient
