"""Which classes the images under each given label really are."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lond.seeds import generator

ROUNDS = 30
"""Of expectation and maximisation."""

PSEUDO_COUNTS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0, 30_000.0, 100_000.0)
"""Wrongly labelled images, spread evenly, that every label is given beforehand; many make confusions even."""

WORTH = 0.05
"""Gain in log-likelihood an image that confusions of a label must bring to be believed.

A model's own bias between like classes brings less; one in a hundred images from a single other class brings that.
"""

SURE = 2.0
"""Standard errors by which it must be more than that."""

LABEL_PRIOR = 10.0
"""Images with the mean share of wrong labels that every label is given beforehand."""

_ROWS = 8192


def label_mixes(probabilities: Tensor, labels: Tensor, rounds: int = ROUNDS) -> tuple[Tensor, Tensor]:
    """Return the share w_gh of class h among the images with label g, by expectation maximisation.

    The images of one label are a set whose mix of classes differs from that of all images. With calibrated
    probabilities p and their mean pi over all images, the mean over label g of
    ``w_gh (p_h / pi_h) / sum_j w_gj (p_j / pi_j)`` is the next w_gh (Saerens et al., 2002). Wrong labels may come from
    any class in any share.

    Args:
        probabilities: ``(N, C)`` calibrated.
        labels: ``(N,)`` in ``[0, C)``.
        rounds: of expectation and maximisation.

    Returns:
        ``(C, C)`` shares, and the density ratios p / pi ``(N, C)``. Rows of labels without images stay at one half for
        the label itself.
    """
    classes = probabilities.shape[1]
    ratios = probabilities.double() / probabilities.double().mean(dim=0).clamp_min(1e-12)
    mixes = torch.full((classes, classes), 0.5 / max(1, classes - 1), dtype=torch.float64)
    mixes.fill_diagonal_(0.5 if classes > 1 else 1.0)
    empty = torch.bincount(labels, minlength=classes) == 0
    for _ in range(rounds):
        sums = torch.zeros_like(mixes)
        for part, own in zip(ratios.split(_ROWS), labels.split(_ROWS), strict=True):
            shares = part * mixes[own]
            sums.index_add_(0, own, shares / shares.sum(dim=1, keepdim=True).clamp_min(1e-300))
        mixes = torch.where(empty.unsqueeze(1), mixes, sums / sums.sum(dim=1, keepdim=True).clamp_min(1e-300))
    return mixes, ratios


def wrong_ratios(mixes: Tensor, ratios: Tensor, labels: Tensor) -> Tensor:
    """Return the density ratio of each image among the wrongly labelled ones of its label, ``(N,)``."""
    others = mixes.clone().fill_diagonal_(0)
    total = others.sum(dim=1, keepdim=True)
    even = torch.ones_like(others).fill_diagonal_(0) / max(1, len(others) - 1)
    others = torch.where(total > 1e-9, others / total.clamp_min(1e-300), even)
    return torch.cat(
        [(part * others[own]).sum(dim=1) for part, own in zip(ratios.split(_ROWS), labels.split(_ROWS), strict=True)]
    )


def smoothed_mixes(mixes: Tensor, counts: Tensor, pseudo_counts: Tensor | float) -> Tensor:
    """Return mixes ``(C, C)`` drawn towards even confusions and the mean share of wrong labels.

    Args:
        mixes: as of ``label_mixes``.
        counts: ``(C,)`` images behind each label.
        pseudo_counts: ``(C,)`` or one number, images added to a label, spread evenly over the other classes.
    """
    counts = counts.double()
    wrong = 1 - mixes.diagonal()
    mean = (wrong * counts).sum() / counts.sum().clamp_min(1)
    wrong = (wrong * counts + mean * LABEL_PRIOR) / (counts + LABEL_PRIOR)
    confused = mixes.clone().fill_diagonal_(0) * counts.unsqueeze(1)
    added = torch.as_tensor(pseudo_counts, dtype=torch.float64).expand(len(mixes)).unsqueeze(1)
    confused = confused + added / max(1, len(mixes) - 1)
    confused.fill_diagonal_(0)
    return torch.diag(1 - wrong) + wrong.unsqueeze(1) * confused / confused.sum(dim=1, keepdim=True)


def label_posteriors(probabilities: Tensor, labels: Tensor, fitted: Tensor, weighed: Tensor, seed: int = 0) -> Tensor:
    """Return how likely each image is of each class, given its picture and its label, ``(N, C)`` float64.

    A label says something too: most are right, and some classes are taken for certain others. The mixes behind the
    labels are fitted; how far those of a label are smoothed is chosen by predicting one half of its images from the
    other half.

    Args:
        probabilities: ``(N, C)`` calibrated, given the picture alone.
        labels: ``(N,)`` given labels; unlabelled images (negative) keep their probabilities.
        fitted: ``(N,)`` mask of images to fit the mixes on: those not called foreign.
        weighed: ``(N,)`` mask of images to choose the smoothing on: those that hardly are foreign.
        seed: of the halves.
    """
    labelled = labels >= 0
    rows = fitted & labelled
    if probabilities.shape[1] < 2 or int(rows.sum()) < 2:
        return probabilities.double()
    table, own = probabilities[rows], labels[rows]
    chosen = choose_counts(table, own, weighed[rows], seed)
    mixes, _ = label_mixes(table, own)
    mixes = smoothed_mixes(mixes, torch.bincount(own, minlength=len(mixes)), chosen)
    found = probabilities.double().clone()
    ratios = found[labelled] / table.double().mean(dim=0).clamp_min(1e-12)
    joint = ratios * mixes[labels[labelled]]
    found[labelled] = joint / joint.sum(dim=1, keepdim=True).clamp_min(1e-300)
    return found


def choose_counts(table: Tensor, labels: Tensor, weighed: Tensor, seed: int) -> Tensor:
    """Return the pseudo-count of every label ``(C,)``: the best one if it is notably better than the largest.

    Measured by the likelihood of either half of its images under the mixes of the other half. Notably better is what
    gains more than ``WORTH`` an image by ``SURE`` standard errors.

    Args:
        table: ``(N, C)`` calibrated probabilities.
        labels: ``(N,)`` given labels in ``[0, C)``.
        weighed: ``(N,)`` mask of the images whose likelihood counts.
        seed: of the halves.
    """
    half = torch.randperm(len(labels), generator=generator(seed, "label mixes")) % 2 == 0
    likelihoods = torch.zeros(len(labels), len(PSEUDO_COUNTS), dtype=torch.float64)
    for fit in (half, ~half):
        mixes, _ = label_mixes(table[fit], labels[fit])
        counts = torch.bincount(labels[fit], minlength=len(mixes))
        rest = ~fit & weighed
        ratios = table[rest].double() / table[fit].double().mean(dim=0).clamp_min(1e-12)
        for place, count in enumerate(PSEUDO_COUNTS):
            chances = (smoothed_mixes(mixes, counts, count)[labels[rest]] * ratios).sum(dim=1)
            likelihoods[rest, place] = chances.clamp_min(1e-300).log()
    found = [_best_or_largest(likelihoods[weighed & (labels == label)]) for label in range(table.shape[1])]
    return torch.tensor(found, dtype=torch.float64)


def _best_or_largest(likelihoods: Tensor) -> float:
    """Return the best pseudo-count by log-likelihoods ``(n, counts)``, the largest if it is nearly as good."""
    if len(likelihoods) < 2:
        return PSEUDO_COUNTS[-1]
    best = int(likelihoods.sum(dim=0).argmax())
    gains = likelihoods[:, best] - likelihoods[:, -1]
    notable = float(gains.mean()) > WORTH + SURE * float(gains.std()) / math.sqrt(len(gains))
    return PSEUDO_COUNTS[best] if notable else PSEUDO_COUNTS[-1]
