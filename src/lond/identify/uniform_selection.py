"""As many clean samples from every class: the selection of UNICON."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class UniformSelection(NamedTuple):
    """``chosen`` is ``(N,)`` bool; ``ratio`` is R, the share of labelled samples below the cut-off.

    Examples:
        >>> found = select_uniformly(torch.tensor([0.1, 0.9, 0.2]), torch.tensor([0, 0, 1]), 2, cutoff=0.5)
        >>> found.chosen.tolist(), round(found.ratio, 2)
        ([True, False, True], 0.67)
    """

    chosen: Tensor
    ratio: float


def divergence_cutoff(divergences: Tensor, limit: float = 0.7, correction: float = 5.0) -> float:
    """Return the mean divergence, lowered by ``(mean - min) / correction`` if it exceeds ``limit``.

    Args:
        divergences: ``(N,)`` of labelled samples, at least one.
        limit: d_mu.
        correction: tau.

    Examples:
        >>> divergence_cutoff(torch.tensor([0.25, 0.75]))
        0.5
    """
    mean = float(divergences.double().mean())
    return mean - (mean - float(divergences.min())) / correction if mean > limit else mean


def select_uniformly(divergences: Tensor, labels: Tensor, num_classes: int, cutoff: float) -> UniformSelection:
    """Select the k samples with the smallest divergence in every class; k = floor(samples below the cut-off / C).

    A class of fewer than k samples gives all it has. If any sample lies below the cut-off, k is at least 1, so that
    small sets of many classes are not left with nothing. Of equal divergences the earlier sample comes first.

    Args:
        divergences: ``(N,)``.
        labels: ``(N,)`` given labels; samples of negative ones are never chosen and do not count.
        num_classes: C.
        cutoff: see ``divergence_cutoff``.

    Examples:
        >>> found = select_uniformly(torch.tensor([0.1, 0.3, 0.2, 0.9]), torch.tensor([0, 0, 0, 1]), 2, cutoff=0.5)
        >>> found.chosen.tolist()
        [True, False, False, True]
    """
    labelled = labels >= 0
    total = int(labelled.sum())
    below = int(((divergences < cutoff) & labelled).sum())
    if not below:
        return UniformSelection(torch.zeros_like(labelled), 0.0)
    quota = max(1, below // num_classes)
    by_divergence = divergences.argsort(stable=True)
    order = by_divergence[labels[by_divergence].argsort(stable=True)]
    ordered = labels[order]
    # Where each class begins in the order gives every sample its rank within the class.
    ranks = torch.arange(len(labels), device=labels.device) - torch.searchsorted(ordered, ordered)
    chosen = torch.zeros_like(labelled)
    chosen[order] = ranks < quota
    return UniformSelection(chosen & labelled, below / total)


def divergence_weights(divergences: Tensor, trusted_below: float = 0.5) -> Tensor:
    """Return the weights of given labels: 1 below ``trusted_below``, else ``1 - d``, ``(N,) -> (N,)``.

    Examples:
        >>> divergence_weights(torch.tensor([0.2, 0.75])).tolist()
        [1.0, 0.25]
    """
    return torch.where(divergences < trusted_below, torch.ones_like(divergences), (1 - divergences).clamp_min(0))
