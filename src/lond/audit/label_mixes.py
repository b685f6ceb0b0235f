"""Which classes the images under each given label really are."""

from __future__ import annotations

import torch
from torch import Tensor

ROUNDS = 30
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
