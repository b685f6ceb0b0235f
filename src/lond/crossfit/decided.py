"""What a person decided about some of the images, as truth for a second look at the others.

``decided`` ``(N,)`` holds the true class of an image, ``NO_CLASS`` where a person called it foreign, and ``UNDECIDED``.
"""

from __future__ import annotations

import torch
from torch import Tensor

NO_CLASS, UNDECIDED = -1, -2
"""Entries of ``decided`` that are no class."""


def teaching(labels: Tensor, decided: Tensor, confirmed: Tensor | None) -> Tensor:
    """Return which decisions ``(N,)`` say something of other images: those on given labels that none confirmed before.

    Examples:
        >>> teaching(torch.tensor([0, 1, -1]), torch.tensor([0, UNDECIDED, 1]), None).tolist()
        [True, False, False]
    """
    found = (decided != UNDECIDED) & (labels >= 0)
    return found if confirmed is None else found & ~confirmed


def taught_labels(labels: Tensor, decided: Tensor | None) -> Tensor:
    """Return the labels ``(N,)`` to learn from: the decided class, else the given one; foreign images have none."""
    if decided is None:
        return labels
    return torch.where(decided == UNDECIDED, labels, decided)


def taught_weights(chances: Tensor, taught: Tensor, decided: Tensor | None) -> Tensor:
    """Return how much each image counts, ``(N,)``: less, the more its label is doubted; fully if a person decided.

    Images that a person called foreign count as well: their targets, all 0, teach "none of these".
    """
    own = chances.gather(1, taught.clamp_min(0)[:, None]).squeeze(1)
    weights = (own - chances.amax(dim=1)).exp() * (taught >= 0)
    if decided is None:
        return weights
    return torch.where(decided != UNDECIDED, 1.0, weights)
