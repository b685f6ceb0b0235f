"""The negative margin and the open set (Eq. 10-11)."""

from __future__ import annotations

import torch
from torch import Tensor


def negative_margin(negatives: Tensor, labels: Tensor) -> Tensor:
    """Return ``|p^{y}0 - max_{c != y} p^{c}0|`` (Eq. 10).

    Args:
        negatives: ``(N, C)`` one-vs-all negative probabilities.
        labels: ``(N,)`` labels in ``0..C-1``.

    Returns:
        ``(N,)`` margins; the smaller, the more likely the image is open-set noise.

    Examples:
        >>> negative_margin(torch.tensor([[0.25, 1.0], [1.0, 1.0]]), torch.tensor([0, 0])).tolist()
        [0.75, 0.0]
    """
    column = labels.unsqueeze(1)
    given = negatives.gather(1, column).squeeze(1)
    others = negatives.scatter(1, column, -torch.inf).amax(dim=1)
    return (given - others).abs()


def select_open(margins: Tensor, clean: Tensor, share: float) -> Tensor:
    """Return the mask ``(N,)`` of the share (rounded down) of not-clean samples with the smallest margin (Eq. 11).

    Examples:
        >>> select_open(torch.tensor([0.0, 0.9, 0.1]), torch.tensor([True, False, False]), share=0.5).tolist()
        [False, False, True]
    """
    candidates = (~clean).nonzero().squeeze(1)
    # The small term undoes the float error of products such as 0.29 * 100.
    count = int(share * len(candidates) + 1e-9)
    order = margins[candidates].argsort(stable=True)
    selected = torch.zeros_like(clean)
    selected[candidates[order[:count]]] = True
    return selected
