"""Neighbourhood collective estimation: labels verified and corrected by the nearest samples (NCE)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from lond.identify.neighbours import nearest_neighbours

SMOOTHING = 1e-4
"""What a class other than the label gets in a smoothed label; the label itself gets 1 minus this."""

BLOCK_BYTES = 32 * 2**20
"""Largest intermediate table held at a time."""


class Corrections(NamedTuple):
    """Corrections of Q samples: ``labels`` (Q,) int64 and mean ``divergences`` (Q,); small = confident.

    Examples:
        >>> Corrections(torch.tensor([3]), torch.tensor([0.2])).labels.tolist()
        [3]
    """

    labels: Tensor
    divergences: Tensor


def label_divergences(probabilities: Tensor) -> Tensor:
    """Return the Jensen-Shannon divergence, in bits, of every prediction from every smoothed label.

    A smoothed label is ``1 - 1e-4`` at its class and ``1e-4`` elsewhere. As in the released program it is not
    normalised (it sums to ``1 + 1e-4 (C - 2)``), so even a sure and right prediction has a divergence of about
    ``0.5e-4 C``. The divergence is a sum over classes, of which a label changes one term only; all labels together
    thus take no more than a table of the same shape.

    Args:
        probabilities: ``(N, C)`` predictions p.

    Returns:
        ``(N, C)`` float32; column c holds ``JS(p, label c)``.

    Examples:
        >>> [round(value, 2) for value in label_divergences(torch.tensor([[1.0, 0.0]]))[0].tolist()]
        [0.0, 1.0]
    """
    rows = max(1, BLOCK_BYTES // (8 * max(1, probabilities.shape[1])))
    blocks = [_divergences(block) for block in probabilities.split(rows)]
    return torch.cat(blocks) if blocks else probabilities.float()


def _divergences(probabilities: Tensor) -> Tensor:
    exact = torch.float32 if probabilities.device.type == "mps" else torch.float64
    p = probabilities.to(exact)
    elsewhere = _half_bits(p, SMOOTHING)
    at_label = _half_bits(p, 1 - SMOOTHING)
    return (elsewhere.sum(dim=1, keepdim=True) - elsewhere + at_label).clamp_min(0).float()


def _half_bits(p: Tensor, label: float) -> Tensor:
    """Return one class's part of the divergence: ``(p log p + q log q) / 2 - m log m`` with ``m = (p + q) / 2``."""
    q = torch.full_like(p, label)
    middle = (p + q) / 2
    return ((torch.xlogy(p, p) + torch.xlogy(q, q)) / 2 - torch.xlogy(middle, middle)) / torch.log(q.new_tensor(2.0))


def verify_labels(features: Tensor, probabilities: Tensor, labels: Tensor, k: int) -> Tensor:
    """Return the mean divergence of the neighbours' predictions from each sample's given label (NCNV).

    ``S(i) = 1/k sum_j JS(p_j, label y_i)`` over the k nearest other samples j. The released program leaves a sample out
    of its own neighbours in the first block only; here it never votes on itself.

    Args:
        features: ``(N, D)`` unit rows; N must be at least 2.
        probabilities: ``(N, C)`` predictions.
        labels: ``(N,)`` given labels; negative = unlabelled.
        k: how many neighbours; capped by N - 1.

    Returns:
        ``(N,)`` float32; 1, which is distrust, for unlabelled samples.

    Examples:
        >>> features = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
        >>> sure = torch.tensor([[0.9, 0.1]] * 3)
        >>> doubts = verify_labels(features, sure, torch.tensor([0, 0, 1]), k=2)
        >>> bool(doubts[2] > doubts[0])
        True
    """
    neighbours = nearest_neighbours(features, k, include_self=False).indices
    divergences = label_divergences(probabilities)
    votes = divergences[neighbours, labels.clamp_min(0)[:, None]]
    return torch.where(labels >= 0, votes.mean(dim=1), 1.0)


def correct_labels(
    features: Tensor, probabilities: Tensor, pool_features: Tensor, pool_labels: Tensor, k: int
) -> Corrections:
    """Return the label voted by the nearest trusted samples, and the divergence of the prediction (NCLC).

    With ``a_j = JS(p_i, label y_j)`` neighbour j votes for its smoothed label with the weight ``1 - a_j``. Smoothing
    adds the same to all classes, so the winner is the class of the largest summed weight. The divergence is the mean
    of all ``a_j``.

    Args:
        features: ``(Q, D)`` unit rows of the samples to correct.
        probabilities: ``(Q, C)`` their predictions.
        pool_features: ``(P, D)`` unit rows of trusted samples; P must be at least 1.
        pool_labels: ``(P,)`` their labels, none negative.
        k: how many neighbours; capped by P.

    Examples:
        >>> pool = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> features, sure = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.8, 0.2]])
        >>> found = correct_labels(features, sure, pool, torch.tensor([0, 1]), k=1)
        >>> found.labels.tolist()
        [0]
    """
    neighbours = nearest_neighbours(pool_features, k, queries=features).indices
    votes = pool_labels[neighbours]
    distances = label_divergences(probabilities).gather(1, votes)
    weights = torch.zeros_like(probabilities, dtype=torch.float32).scatter_add_(1, votes, 1 - distances)
    return Corrections(weights.argmax(dim=1), distances.mean(dim=1))
