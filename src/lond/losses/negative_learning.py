"""Negative learning: push down the classes that a sample is believed not to belong to."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_alike, check_tensors


def log_complements(logits: Tensor) -> Tensor:
    """Return ``log(1 - p_c)`` of the softmax probabilities, ``(B, C) -> (B, C)`` in float32; C is at least 2.

    Only the top class can have a probability near 1, where ``1 - p`` loses its digits; it is taken as the log of the
    summed probability of all others.

    Examples:
        >>> log_complements(torch.zeros(1, 2)).exp().tolist()
        [[0.5, 0.5]]
    """
    check_tensors(logits=logits)
    logits = logits.float()
    is_top = F.one_hot(logits.argmax(dim=1), logits.shape[1]).bool()
    others = logits.masked_fill(is_top, -torch.inf).logsumexp(dim=1) - logits.logsumexp(dim=1)
    probabilities = F.softmax(logits, dim=1)
    return torch.where(is_top, others[:, None], torch.log1p(-probabilities.masked_fill(is_top, 0.0)))


def negative_learning(logits: Tensor, complement: Tensor) -> Tensor:
    """Return ``-sum_{c in complement} log(1 - p_c)``.

    Args:
        logits: ``(B, C)``.
        complement: ``(B, C)`` True for the classes to push down; a row may hold none (loss 0).

    Returns:
        ``(B,)`` losses in float32.

    Examples:
        >>> round(negative_learning(torch.zeros(1, 2), torch.tensor([[False, True]])).item(), 3)
        0.693
    """
    check_alike(2, logits=logits, complement=complement)
    return -(log_complements(logits) * complement).sum(dim=1)
