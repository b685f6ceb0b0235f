"""How foreign an image is by the labels around it: they scatter where no known class lives."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.identify import Neighbours, label_votes, scattered_labels

RIGHT_VOTERS = 20
"""Nearest images with right labels that should vote on an image."""

FEWEST_VOTERS, MOST_VOTERS = 5, 100
"""The least and the most voters, whatever the noise."""


def count_voters(images: int, wrong_labels: float) -> int:
    """Return how many nearest images vote: more of them, the more labels are wrong.

    No more than a tenth of the images, so that small sets are not one neighbourhood.
    """
    wanted = RIGHT_VOTERS / max(1 - wrong_labels, RIGHT_VOTERS / MOST_VOTERS)
    return min(round(wanted), max(FEWEST_VOTERS, images // 10))


def foreign_scores(labels: Tensor, near: Neighbours, num_classes: int, wrong_labels: float) -> Tensor:
    """Return how scattered the labels of each image's nearest other images are, ``(N,)``; larger = more foreign.

    The labels of a class with fewer images than voters count for more, or all its images would look foreign.

    Args:
        labels: ``(N,)`` given labels.
        near: the nearest other images of each, ``MOST_VOTERS`` of them if there are so many.
        num_classes: C.
        wrong_labels: roughly, which share of the labels is wrong.
    """
    voters = count_voters(len(labels), wrong_labels)
    others = torch.bincount(labels[labels >= 0], minlength=num_classes) - 1
    most = others.clamp_min(FEWEST_VOTERS).clamp_max(voters).float() / voters
    return scattered_labels(label_votes(labels, near.first(voters), num_classes), most)
