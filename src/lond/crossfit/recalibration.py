"""Chances recalibrated by what a person decided: the shift of their log-odds that fits the decided images."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.crossfit.chances import CLEAN, OUTSIDE, WRONG
from lond.crossfit.decided import NO_CLASS, UNDECIDED

CAUTION = 4.0
"""Weight of half the squared shift beside the sum of the losses: how many decisions it takes to be believed."""

STEPS = 25
"""Newton's steps; the fit has two parameters and is convex."""


def truth_of(labels: Tensor, decided: Tensor) -> Tensor:
    """Return what is true of each given label ``(N,)``: ``CLEAN``, ``WRONG`` or ``OUTSIDE``; for decided images only."""
    known = torch.where(decided == labels, CLEAN, WRONG)
    return torch.where(decided == NO_CLASS, OUTSIDE, known)


def shift_of(chances: Tensor, truth: Tensor) -> Tensor:
    """Return how far the log-odds of "wrong" and "foreign" against "clean" were off, ``(2,)``.

    A logistic fit of two offsets, drawn towards 0 by ``CAUTION``, so that a few decisions change little.

    Args:
        chances: ``(M, 3)`` of decided images, by models that did not see their labels.
        truth: ``(M,)`` of ``truth_of``.
    """
    logits = chances.double().clamp_min(1e-6).log()
    actual = F.one_hot(truth, 3).double()[:, 1:]
    shift = logits.new_zeros(2)
    for _ in range(STEPS):
        moved = torch.softmax(logits + torch.cat([shift.new_zeros(1), shift]), dim=1)[:, 1:]
        slope = (actual - moved).sum(dim=0) - CAUTION * shift
        curve = torch.diag(moved.sum(dim=0) + CAUTION) - moved.T @ moved
        shift = shift + torch.linalg.solve(curve, slope).clamp(-1, 1)
    return shift


def recalibrated(chances: Tensor, labels: Tensor, decided: Tensor) -> Tensor:
    """Return chances ``(N, 3)`` shifted by what the decisions taught, and certain where a person decided."""
    known = decided != UNDECIDED
    asked = known & (labels >= 0)
    if asked.any():
        shift = shift_of(chances[asked], truth_of(labels[asked], decided[asked])).float()
        chances = torch.softmax(chances.clamp_min(1e-6).log() + torch.cat([shift.new_zeros(1), shift]), dim=1)
    sure = F.one_hot(truth_of(labels, decided), 3).to(chances)
    # Without a label nothing is wrong: the image is known, or it is not.
    sure = torch.where((labels < 0)[:, None] & (decided >= 0)[:, None], sure.new_tensor([1.0, 0.0, 0.0]), sure)
    return torch.where(known[:, None], sure, chances)
