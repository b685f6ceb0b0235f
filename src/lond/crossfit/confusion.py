"""Label confusions, and what they imply about the true class of every image.

A matrix says how often an image of a class carries each label. Its last row stands for foreign images, which carry
labels as often as these occur.
"""

from __future__ import annotations

import torch
from torch import Tensor

SUREST = 0.2
"""Share of a class of average size, its surest images, that tell how its labels are confused."""

PRIOR_IMAGES = 5.0
"""Images of the set's own mix of labels that each row counts besides."""

UNMIXING_STEPS = 16
"""Steps from labels to classes; more of them follow the noise of the predictions."""

WIDEST_OFFSET = 12.0
"""Largest change of the log-odds of being foreign."""


def confusion_of(log_chances: Tensor, labels: Tensor) -> Tensor:
    """Return how often images of each class carry each label, ``(C + 1, C)``; the last row is that of foreign images.

    Args:
        log_chances: ``(N, C)`` log-probabilities of the given label, from models that did not see it.
        labels: ``(N,)`` given labels; negative = none.
    """
    labelled = labels >= 0
    log_chances, labels = log_chances[labelled], labels[labelled]
    classes = log_chances.shape[1]
    mix = torch.bincount(labels, minlength=classes).float() + 0.5
    mix = mix / mix.sum()
    most = max(1, round(SUREST * len(labels) / classes))
    sureness, predicted = log_chances.max(dim=1)
    rows = []
    for own in range(classes):
        members = (predicted == own).nonzero().squeeze(1)
        surest = members[sureness[members].argsort(descending=True, stable=True)[:most]]
        rows.append(torch.bincount(labels[surest], minlength=classes).float() + PRIOR_IMAGES * mix)
        if not len(surest):
            # Nothing is known of a class that is never predicted: its labels count as right.
            rows[-1][own] += 1.0
    confusion = torch.stack([*rows, mix])
    return confusion / confusion.sum(dim=1, keepdim=True)


def unmixed(log_chances: Tensor, confusion: Tensor, foreign_rate: float) -> Tensor:
    """Return probabilities of the true class, ``(N, C + 1)``, that explain those of the given label ``(N, C)``.

    Each step multiplies the probability of a class by how well it explains the labels (Richardson and Lucy's steps,
    which raise the likelihood); the last column is the probability of being foreign.
    """
    chances = log_chances.exp()
    classes = chances.shape[1]
    found = chances.new_full((len(chances), classes + 1), (1 - foreign_rate) / classes)
    found[:, -1] = foreign_rate
    for _ in range(UNMIXING_STEPS):
        found = found * ((chances / (found @ confusion).clamp_min(1e-12)) @ confusion.T)
    return found / found.sum(dim=1, keepdim=True)


def posterior(prior: Tensor, labels: Tensor, confusion: Tensor, foreign_rate: float) -> Tensor:
    """Return probabilities of the true class ``(N, C + 1)`` once the given label is known as well.

    The log-odds of being foreign are moved alike for all images, so that ``foreign_rate`` of them are foreign: an image
    that many classes may explain would pass for known otherwise.

    Args:
        prior: ``(N, C + 1)`` probabilities of the true class that do not know the label.
        labels: ``(N,)`` given labels; negative = none, which says nothing.
        confusion: ``(C + 1, C)`` of ``confusion_of``.
        foreign_rate: share of foreign images, 0 to 1.
    """
    likelihood = torch.where((labels >= 0)[:, None], confusion.T[labels.clamp_min(0)], torch.ones(()))
    joint = prior.clamp_min(1e-12) * likelihood
    known, foreign = joint[:, :-1], joint[:, -1]
    shares = known / known.sum(dim=1, keepdim=True)
    odds = foreign.log() - known.sum(dim=1).log()
    outside = torch.sigmoid(odds + offset_for(odds, foreign_rate))[:, None]
    return torch.cat([shares * (1 - outside), outside], dim=1)


def offset_for(odds: Tensor, rate: float) -> float:
    """Return what has to be added to log-odds ``(N,)`` for their mean probability to be ``rate``."""
    low, high = -WIDEST_OFFSET, WIDEST_OFFSET
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if float(torch.sigmoid(odds + middle).mean()) < rate else (low, middle)
    return (low + high) / 2
