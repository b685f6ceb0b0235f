"""Linear heads and neighbours on frozen features, without a learning rate and without randomness of their own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

FOLDS, STEPS, PENALTY, NEIGHBOURS, DIRECTIONS = 5, 12, 0.3, 20, 256


@dataclass(frozen=True)
class Preparation:
    """How features are brought to a common shape: learned on training images, applied to any."""

    mean: Tensor
    directions: Tensor | None

    def __call__(self, features: Tensor) -> Tensor:
        """Return signed square roots, centred, of unit length, in the principal directions."""
        centred = F.normalize(_signed_root(features) - self.mean, dim=1)
        return centred if self.directions is None else centred @ self.directions


def preparation(features: Tensor) -> Preparation:
    """Learn the preparation from features ``(N, D)``; at most DIRECTIONS directions stay."""
    first = Preparation(_signed_root(features).mean(dim=0), None)
    if features.shape[1] <= DIRECTIONS:
        return first
    centred = first(features)
    return Preparation(first.mean, torch.linalg.eigh(centred.T @ centred)[1][:, -DIRECTIONS:])


def _signed_root(features: Tensor) -> Tensor:
    return features.float().sign() * features.float().abs().sqrt()


def make_folds(given: Tensor, seed: int, folds: int = FOLDS) -> Tensor:
    """Return a fold per image, every label spread evenly."""
    order = torch.randperm(len(given), generator=torch.Generator().manual_seed(seed))
    order = order[given[order].argsort(stable=True)]
    found = torch.empty_like(given)
    found[order] = torch.arange(len(given)) % folds
    return found


@dataclass(frozen=True)
class Head:
    """Weights ``(D, C)`` and offsets ``(C,)`` of a softmax regression."""

    weights: Tensor
    offsets: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        """Return logits ``(N, C)``."""
        return features @ self.weights + self.offsets


def fit_head(features: Tensor, targets: Tensor, weights: Tensor | None = None) -> Head:
    """Return a softmax regression on soft targets ``(N, C)``, images weighted by ``weights`` ``(N,)``.

    Accelerated steps, preconditioned by Boehning's bound of the curvature, half the Gram matrix.
    """
    targets = targets if weights is None else targets * weights[:, None]
    amount = targets.sum(dim=1)
    curvature = 0.5 * features.T @ (features * amount[:, None]) + PENALTY * torch.eye(features.shape[1])
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(curvature))
    offsets = ((targets.sum(dim=0) + 0.5) / (targets.sum() + 0.5 * targets.shape[1])).log()
    now = ahead = torch.zeros(features.shape[1], targets.shape[1])
    pace = 1.0
    for _ in range(STEPS):
        expected = torch.softmax(features @ ahead + offsets, dim=1) * amount[:, None]
        new = ahead + inverse @ (features.T @ (targets - expected) - PENALTY * ahead)
        next_pace = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = new + (pace - 1) / next_pace * (new - now)
        now, pace = new, next_pace
    return Head(now, offsets)


def out_of_fold(features: Tensor, targets: Tensor, folds: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return logits ``(N, C)`` of heads that did not see the image."""
    found = torch.empty(len(features), targets.shape[1])
    for fold in folds.unique():
        held = folds == fold
        head = fit_head(features[~held], targets[~held], None if weights is None else weights[~held])
        found[held] = head(features[held])
    return found


def fit_one_vs_all(features: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Return weights ``(D, C)`` of a ridge regression on targets ``(N, C)``."""
    weighted = features * weights[:, None]
    return torch.linalg.solve(features.T @ weighted + torch.eye(features.shape[1]), weighted.T @ targets)


def one_vs_all_out_of_fold(features: Tensor, targets: Tensor, folds: Tensor, weights: Tensor) -> Tensor:
    """Return one-vs-all scores ``(N, C)`` of ridge regressions that did not see the image."""
    found = torch.empty(len(features), targets.shape[1])
    for fold in folds.unique():
        held = folds == fold
        found[held] = features[held] @ fit_one_vs_all(features[~held], targets[~held], weights[~held])
    return found


def neighbours(features: Tensor, count: int = NEIGHBOURS, chunk: int = 2000) -> tuple[Tensor, Tensor]:
    """Return cosine similarities and places ``(N, k)`` of the nearest other images."""
    unit = F.normalize(features, dim=1)
    similarities, places = [], []
    for start in range(0, len(unit), chunk):
        found = unit[start : start + chunk] @ unit.T
        rows = torch.arange(len(found))
        found[rows, start + rows] = -2
        best = found.topk(min(count, len(unit) - 1), dim=1)
        similarities.append(best.values)
        places.append(best.indices)
    return torch.cat(similarities), torch.cat(places)


def calibrated(logits: Tensor, given: Tensor) -> Tensor:
    """Return log-probabilities at the scale of logits that fits the labels best."""
    grid = torch.logspace(-0.7, 0.7, 29)
    losses = torch.stack([F.cross_entropy(logits * scale, given) for scale in grid])
    return torch.log_softmax(logits * grid[losses.argmin()], dim=1)


def energy(logits: Tensor) -> Tensor:
    """Return the energy score of centred logits; larger = more foreign."""
    return -torch.logsumexp(logits - logits.mean(dim=1, keepdim=True), dim=1)
