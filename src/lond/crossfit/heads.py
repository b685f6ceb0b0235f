"""Linear heads without a learning rate, all folds and the model of all images trained in one pass over the features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

PENALTY = 0.3
"""Weight of half the squared norm beside the sum of the losses."""

STEPS = 12
"""Steps of a softmax regression; more of them change no verdict."""

ROWS = 4096
"""Images looked at at a time."""


@dataclass(frozen=True)
class Heads:
    """K linear heads: ``weights`` ``(K, D, C)`` and ``offsets`` ``(K, C)``; the last is trained on all images."""

    weights: Tensor
    offsets: Tensor

    def last(self, features: Tensor) -> Tensor:
        """Return logits ``(N, C)`` of the head that was trained on all images."""
        return features @ self.weights[-1] + self.offsets[-1]

    def unseen(self, features: Tensor, folds: Tensor) -> Tensor:
        """Return logits ``(N, C)`` of the training images by heads that did not see them."""
        found = features.new_empty(len(features), self.weights.shape[2])
        for fold in range(len(self.weights) - 1):
            held = folds == fold
            found[held] = features[held] @ self.weights[fold] + self.offsets[fold]
        return found


def fit_softmax(features: Tensor, targets: Tensor, folds: Tensor) -> Heads:
    """Return softmax regressions, one without each fold and one on all images.

    Accelerated gradient steps, preconditioned by Boehning's bound of the curvature, half the Gram matrix: they need no
    learning rate and cannot overshoot.

    Args:
        features: ``(N, D)``.
        targets: ``(N, C)`` not negative; a row may sum to less than one, and counts so much less.
        folds: ``(N,)`` from 0 on.
    """
    seen = _seen(folds)
    amounts = targets.sum(dim=1)
    inverse = torch.linalg.inv(0.5 * _grams(features, amounts, seen) + PENALTY * _identity(features))
    sums = torch.stack([targets[rows].sum(dim=0) for rows in seen.T])
    offsets = ((sums + 0.5) / (sums + 0.5).sum(dim=1, keepdim=True)).log()
    now = ahead = features.new_zeros(seen.shape[1], features.shape[1], targets.shape[1])
    pace = 1.0
    for _ in range(STEPS):
        slope = _slope(features, targets, amounts, seen, Heads(ahead, offsets)) - PENALTY * ahead
        new = ahead + inverse @ slope
        next_pace = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = new + (pace - 1) / next_pace * (new - now)
        now, pace = new, next_pace
    return Heads(now, offsets)


def fit_one_vs_all(features: Tensor, targets: Tensor, weights: Tensor, folds: Tensor, penalty: float = 1.0) -> Heads:
    """Return ridge regressions on targets ``(N, C)``, images weighted by ``weights`` ``(N,)``; folds as above.

    A class that an image does not belong to has the target 0, so that one of no class scores low for all.
    """
    seen = _seen(folds)
    grams = _grams(features, weights, seen) + penalty * _identity(features)
    weighted = features * weights[:, None]
    whole = weighted.T @ targets
    held = [whole - weighted[~rows].T @ targets[~rows] for rows in seen.T]
    found = torch.linalg.solve(grams, torch.stack(held))
    return Heads(found, found.new_zeros(found.shape[0], found.shape[2]))


def _seen(folds: Tensor) -> Tensor:
    """Return which head ``(N, K)`` learns from which image: all but those of its fold, the last from all."""
    count = int(folds.max()) + 1
    return folds[:, None] != torch.arange(count + 1)


def _identity(features: Tensor) -> Tensor:
    return torch.eye(features.shape[1], dtype=features.dtype)


def _grams(features: Tensor, amounts: Tensor, seen: Tensor) -> Tensor:
    """Return the weighted Gram matrix of what each head sees, ``(K, D, D)``."""
    weighted = features * amounts[:, None]
    whole = features.T @ weighted
    return torch.stack([whole - features[~rows].T @ weighted[~rows] for rows in seen.T])


def _slope(features: Tensor, targets: Tensor, amounts: Tensor, seen: Tensor, heads: Heads) -> Tensor:
    """Return how the log-likelihood grows with the weights of each head, ``(K, D, C)``."""
    count, width, classes = heads.weights.shape
    beside = heads.weights.permute(1, 0, 2).reshape(width, -1)
    found = torch.zeros_like(beside)
    for start in range(0, len(features), ROWS):
        rows = slice(start, start + ROWS)
        part = features[rows]
        logits = (part @ beside).view(len(part), count, classes) + heads.offsets
        missing = targets[rows, None] - torch.softmax(logits, dim=2) * amounts[rows, None, None]
        found += part.T @ (missing * seen[rows, :, None]).view(len(part), -1)
    return found.view(width, count, classes).permute(1, 0, 2)
