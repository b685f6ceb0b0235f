"""Linear heads without a learning rate, all folds and the model of all images trained in one pass over the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

PENALTY = 0.3
"""Weight of half the squared norm beside the sum of the losses."""

STEPS = 12
"""Steps of a softmax regression; the table of chances was fitted to as many."""

ROWS = 4096
"""Images looked at at a time, fewer where there are many classes."""

BLOCK = 4 * 2**20
"""Most logits held at a time."""

FEW = 15
"""Classes up to which PyTorch is faster along the first axis than along the last."""


@dataclass(frozen=True)
class Heads:
    """K linear heads: ``weights`` ``(K, D, C)`` and ``offsets`` ``(K, C)``; the last is trained on all images."""

    weights: Tensor
    offsets: Tensor

    def last(self, features: Tensor) -> Tensor:
        """Return logits ``(N, C)`` of the head that was trained on all images."""
        return features @ self.weights[-1] + self.offsets[-1]

    def unseen(self, features: Tensor, folds: Tensor) -> Tensor:
        """Return logits ``(N, C)`` of the training images, or some of them, by heads that did not see them."""
        found = features.new_empty(len(features), self.weights.shape[2])
        for fold in folds.unique().tolist():
            held = folds == fold
            found[held] = features[held] @ self.weights[fold] + self.offsets[fold]
        return found


@dataclass(frozen=True)
class LabelTargets:
    """Targets that name one class an image: ``labels`` ``(N,)``, each counting ``amounts`` ``(N,)``, 0 for none."""

    labels: Tensor
    amounts: Tensor
    classes: int

    def sums(self, rows: Tensor) -> Tensor:
        """Return how much each class counts among some images, ``(C,)``."""
        return torch.bincount(self.labels[rows].clamp_min(0), self.amounts[rows], self.classes)

    def add_to(self, logits: Tensor, rows: Tensor) -> None:
        """Add the targets of B images to ``(B, H, C)``."""
        amounts = self.amounts[rows, None, None].expand(-1, logits.shape[1], -1)
        logits.scatter_add_(2, self.labels[rows].clamp_min(0)[:, None, None].expand_as(amounts), amounts)

    def times(self, features: Tensor, rows: Tensor) -> Tensor:
        """Return the sums ``(D, C)`` of features ``(B, D)`` of B images by their targets."""
        sums = features.new_zeros(self.classes, features.shape[1])
        sums.index_add_(0, self.labels[rows].clamp_min(0), features * (self.labels[rows] >= 0)[:, None])
        return sums.T


@dataclass(frozen=True)
class SharedTargets:
    """Targets that share an image among classes: ``values`` ``(N, C)``; see ``LabelTargets``."""

    values: Tensor

    @property
    def amounts(self) -> Tensor:
        """How much each image counts, ``(N,)``."""
        return self.values.sum(dim=1)

    @property
    def classes(self) -> int:
        """C."""
        return self.values.shape[1]

    def sums(self, rows: Tensor) -> Tensor:
        """Return how much each class counts among some images, ``(C,)``."""
        return self.values[rows].sum(dim=0)

    def add_to(self, logits: Tensor, rows: Tensor) -> None:
        """Add the targets of B images to ``(B, H, C)``."""
        logits += self.values[rows, None]

    def times(self, features: Tensor, rows: Tensor) -> Tensor:
        """Return the sums ``(D, C)`` of features ``(B, D)`` of B images by their targets."""
        return features.T @ self.values[rows]


def fit_softmax(features: Tensor, targets: Tensor | LabelTargets, folds: Tensor, *, with_last: bool = True) -> Heads:
    """Return softmax regressions, one without each fold and one on all images.

    Accelerated gradient steps, preconditioned by Boehning's bound of the curvature, half the Gram matrix: they need no
    learning rate and cannot overshoot.

    Args:
        features: ``(N, D)``.
        targets: ``(N, C)`` not negative, or the label of each image; a row may sum to less than one, and counts so
            much less.
        folds: ``(N,)`` from 0 on.
        with_last: whether the one on all images is wanted.
    """
    wanted = _as_targets(targets)
    parts = _parts(folds)
    count = len(parts) + int(with_last)
    amounts = wanted.amounts
    inverse = torch.linalg.inv(0.5 * _grams(features, amounts, parts)[:count] + PENALTY * _identity(features))
    sums = _without(torch.stack([wanted.sums(rows) for rows in parts]))[:count]
    offsets = ((sums + 0.5) / (sums + 0.5).sum(dim=1, keepdim=True)).log()
    now = ahead = features.new_zeros(count, features.shape[1], wanted.classes)
    pace = 1.0
    for _ in range(STEPS):
        slope = _slope(features, wanted, amounts, parts, Heads(ahead, offsets)) - PENALTY * ahead
        new = ahead + inverse @ slope
        next_pace = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = new + (pace - 1) / next_pace * (new - now)
        now, pace = new, next_pace
    return Heads(now, offsets)


def fit_one_vs_all(
    features: Tensor, targets: Tensor | LabelTargets, weights: Tensor, folds: Tensor, penalty: float = 1.0
) -> Heads:
    """Return ridge regressions on targets, images weighted by ``weights`` ``(N,)``; targets and folds as above.

    A class that an image does not belong to has the target 0, so that one of no class scores low for all.
    """
    wanted, parts = _as_targets(targets), _parts(folds)
    grams = _grams(features, weights, parts) + penalty * _identity(features)
    sums = torch.stack(
        [_sum(rows, lambda part: wanted.times(_weighted(features, weights, part), part)) for rows in parts]
    )
    found = torch.linalg.solve(grams, _without(sums))
    return Heads(found, found.new_zeros(found.shape[0], found.shape[2]))


def _as_targets(targets: Tensor | LabelTargets) -> LabelTargets | SharedTargets:
    return SharedTargets(targets) if isinstance(targets, Tensor) else targets


def _parts(folds: Tensor) -> list[Tensor]:
    """Return the places of the images of each fold."""
    return [(folds == fold).nonzero().squeeze(1) for fold in range(int(folds.max()) + 1)]


def _without(parts: Tensor) -> Tensor:
    """Return from sums ``(F, ...)`` over each fold those over all others, and last that over all."""
    whole = parts.sum(dim=0, keepdim=True)
    return torch.cat([whole - parts, whole])


def _identity(features: Tensor) -> Tensor:
    return torch.eye(features.shape[1], dtype=features.dtype)


def _weighted(features: Tensor, weights: Tensor, rows: Tensor) -> Tensor:
    return features[rows] * weights[rows, None]


def _sum(rows: Tensor, of: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the sum of what is found for some rows at a time."""
    return reduce(Tensor.add_, (of(part) for part in rows.split(8 * ROWS)))


def _grams(features: Tensor, amounts: Tensor, parts: list[Tensor]) -> Tensor:
    """Return the weighted Gram matrix of what each head sees, ``(K, D, D)``."""
    return _without(
        torch.stack([_sum(rows, lambda part: features[part].T @ _weighted(features, amounts, part)) for rows in parts])
    )


def _slope(
    features: Tensor, targets: LabelTargets | SharedTargets, amounts: Tensor, parts: list[Tensor], heads: Heads
) -> Tensor:
    """Return how the log-likelihood grows with the weights of each head, ``(K, D, C)``."""
    found = torch.zeros_like(heads.weights)
    for fold, members in enumerate(parts):
        seeing = [head for head in range(len(heads.weights)) if head != fold]
        offsets = heads.offsets[seeing]
        beside = heads.weights[seeing].permute(1, 0, 2).reshape(features.shape[1], -1)
        slopes = torch.zeros_like(beside)
        at_once = min(ROWS, max(256, BLOCK // beside.shape[1]))
        logits, chances = (features.new_empty(at_once, *offsets.shape) for _ in range(2))
        for rows in members.split(at_once):
            part, own, missing = features[rows], logits[: len(rows)], chances[: len(rows)]
            torch.mm(part, beside, out=own.view(len(rows), -1))
            _softmax(own.add_(offsets), missing)
            targets.add_to(missing.mul_(-amounts[rows, None, None]), rows)
            slopes.addmm_(part.T, missing.view(len(rows), -1))
        found[seeing] += slopes.view(-1, *offsets.shape).permute(1, 0, 2)
    return found


def _softmax(logits: Tensor, out: Tensor) -> None:
    """Write the probabilities of logits ``(B, H, C)`` to ``out``."""
    if logits.shape[2] > FEW:
        torch.softmax(logits, dim=2, out=out)
    else:
        classes_first = logits.flatten(0, 1).T.contiguous()
        out.copy_(torch.softmax(classes_first, dim=0).T.view_as(out))
