"""What heads and neighbours that never saw an image say of its label, for some images at a time.

Tables of all images and all classes are never needed at once, so memory does not grow with their product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.crossfit.heads import Heads
from lond.identify.neighbours import Neighbours

TEMPERATURE = 0.1
"""By how much similarity a neighbour's vote falls to 1 / e."""

NEIGHBOURS_WEIGHT = 0.5
"""Weight of the neighbours' log-probabilities beside the heads'."""

SCALE_IMAGES = 50_000
"""Images by which scales of logits are fitted, spread evenly over larger sets."""

CELLS = 4 * 2**20
"""Entries of a table of images and classes that are computed at a time."""

SCALES = torch.logspace(-0.7, 0.7, 29)
"""Scales of logits to choose from."""


@dataclass(frozen=True)
class UnseenOpinions:
    """What is said of N images by heads and neighbours that never saw their label.

    ``said`` are heads, or logits ``(N, C)`` of networks. ``scales`` are those of the heads' logits, the neighbours' and
    both together; ``members`` are one-vs-all heads.
    """

    features: Tensor
    labels: Tensor
    folds: Tensor
    near: Neighbours
    classes: int
    said: Heads | Tensor
    scales: tuple[float, float, float] = (1.0, 1.0, 1.0)
    one_vs_all: Heads | None = None

    @property
    def at_once(self) -> int:
        """How many images are looked at at a time."""
        return max(1, CELLS // self.classes)

    def parts(self) -> Iterator[Tensor]:
        """Yield the places of all images, some at a time."""
        yield from torch.arange(len(self.labels)).split(self.at_once)

    def logits(self, rows: Tensor) -> Tensor:
        """Return the logits of the images at ``rows``, ``(B, C)``."""
        if isinstance(self.said, Tensor):
            return self.said[rows]
        return self.said.unseen(self.features[rows], self.folds[rows])

    def shares(self, rows: Tensor) -> Tensor:
        """Return the shares of labels among the neighbours of the images at ``rows``, ``(B, C)``."""
        near = Neighbours(self.near.indices[rows], self.near.similarities[rows])
        return label_shares(self.labels, near, self.classes)

    def members(self, rows: Tensor) -> Tensor:
        """Return what one-vs-all heads say, ``(B, C)``: about 1 for the class of an image and 0 for others."""
        assert self.one_vs_all is not None
        return self.one_vs_all.unseen(self.features[rows], self.folds[rows])

    def log_chances(self, rows: Tensor, logits: Tensor | None = None, shares: Tensor | None = None) -> Tensor:
        """Return log-probabilities of the given label, ``(B, C)``, from logits and shares if they are at hand."""
        of_heads, of_neighbours, of_both = self.scales
        logits = self.logits(rows) if logits is None else logits
        shares = self.shares(rows) if shares is None else shares
        votes = NEIGHBOURS_WEIGHT * torch.log_softmax(shares.log() * of_neighbours, dim=1)
        return torch.log_softmax((torch.log_softmax(logits * of_heads, dim=1) + votes) * of_both, dim=1)


def fit_scales(opinions: UnseenOpinions) -> tuple[float, float, float]:
    """Return the scales of the heads' logits, the neighbours' and both that fit the labels best."""
    known = (opinions.labels >= 0).nonzero().squeeze(1)
    rows = known[:: -(-len(known) // SCALE_IMAGES)]
    labels = opinions.labels[rows]
    logits, votes = opinions.logits(rows), opinions.shares(rows).log()
    of_heads, of_neighbours = fit_scale(logits, labels), fit_scale(votes, labels)
    head = torch.log_softmax(logits * of_heads, dim=1)
    both = head + NEIGHBOURS_WEIGHT * torch.log_softmax(votes * of_neighbours, dim=1)
    return of_heads, of_neighbours, fit_scale(both, labels)


def fit_scale(logits: Tensor, labels: Tensor) -> float:
    """Return which of ``SCALES`` of logits ``(N, C)`` fits labels ``(N,)`` best.

    The loss is convex in the scale, so a search by halves finds the least.
    """
    losses: dict[int, float] = {}

    def loss(at: int) -> float:
        if at not in losses:
            losses[at] = _mean_loss(logits, labels, float(SCALES[at]))
        return losses[at]

    low, high = 0, len(SCALES) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if loss(middle) <= loss(middle + 1) else (middle + 1, high)
    return float(SCALES[low])


def _mean_loss(logits: Tensor, labels: Tensor, scale: float) -> float:
    # Float32 sums of many images are too coarse to tell neighbouring scales apart.
    rows = max(1, CELLS // logits.shape[1])
    parts = zip(logits.split(rows), labels.split(rows), strict=True)
    losses = [float(F.cross_entropy(part * scale, own, reduction="none").double().sum()) for part, own in parts]
    return float(np.sum(losses)) / len(labels)


def label_shares(labels: Tensor, near: Neighbours, classes: int) -> Tensor:
    """Return the shares of labels among neighbours ``(Q, C)``, with one more neighbour of the set's own mix."""
    labelled = labels >= 0
    mix = torch.bincount(labels[labelled], minlength=classes).float() + 0.5
    count = near.indices.shape[1]
    weights = torch.softmax(near.similarities / TEMPERATURE, dim=1) * count * labelled[near.indices]
    found = torch.zeros(len(near.indices), classes)
    found.scatter_add_(1, labels.clamp_min(0)[near.indices], weights)
    found += mix / mix.sum()
    return found / found.sum(dim=1, keepdim=True)
