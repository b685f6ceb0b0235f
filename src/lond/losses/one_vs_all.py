"""One-vs-all classification: C independent two-way classifiers (Eq. 2)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_rows, check_tensors


def log_odds(logits: Tensor) -> Tensor:
    """Return ``logit(positive) - logit(negative)`` in float32, ``(B, C, 2) -> (B, C)``.

    Examples:
        >>> log_odds(torch.tensor([[[0.0, 2.0], [1.0, 0.0]]])).tolist()
        [[2.0, -1.0]]

    Raises:
        ValueError: the shape is another one.
    """
    check_tensors(logits=logits)
    if logits.ndim < 3 or logits.shape[-1] != 2:
        raise ValueError(f"one-vs-all logits are (B, C, 2), not {tuple(logits.shape)}")
    logits = logits.float()
    return logits[..., 1] - logits[..., 0]


def positive_probabilities(logits: Tensor) -> Tensor:
    """Return ``p^c(z=1|x)``, the probability of belonging to each class, ``(B, C, 2) -> (B, C)``.

    Examples:
        >>> positive_probabilities(torch.zeros(1, 3, 2)).tolist()
        [[0.5, 0.5, 0.5]]
    """
    return torch.sigmoid(log_odds(logits))


def negative_probabilities(logits: Tensor) -> Tensor:
    """Return ``p^c(z=0|x)``, the probability of not belonging to each class, ``(B, C, 2) -> (B, C)``.

    Examples:
        >>> negative_probabilities(torch.zeros(1, 3, 2)).tolist()
        [[0.5, 0.5, 0.5]]
    """
    return torch.sigmoid(-log_odds(logits))


def one_vs_all(logits: Tensor, targets: Tensor) -> Tensor:
    """Return ``-sum_c [t_c log p^c1 + (1 - t_c) log p^c0]`` (Eq. 2, with the second sum over ``p^j``).

    Args:
        logits: ``(B, C, 2)``; the last axis is (negative, positive).
        targets: ``(B, C)`` in [0, 1]; one-hot or soft.

    Returns:
        ``(B,)`` losses in float32.

    Examples:
        >>> round(one_vs_all(torch.zeros(1, 2, 2), torch.tensor([[1.0, 0.0]])).item(), 3)
        1.386
    """
    check_rows(logits=logits, targets=targets)
    odds = log_odds(logits)
    # -t log s(o) - (1-t) log s(-o) is exactly binary cross-entropy on the log odds.
    return F.binary_cross_entropy_with_logits(odds, targets.detach().to(odds), reduction="none").sum(dim=1)
