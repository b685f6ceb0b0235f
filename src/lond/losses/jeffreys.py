"""Jeffreys divergence: the two-way relative entropy by which Jo-SRC compares the predictions on two views."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_alike

SMALLEST = 1e-7
"""Probabilities below this count as this: the divergence is bounded, and vanishing ones give no gradient."""


def jeffreys_divergence(first_logits: Tensor, second_logits: Tensor, base: float = 2.0) -> Tensor:
    """Return ``KL(p || q) + KL(q || p) = sum_c (p_c - q_c) (log p_c - log q_c)``, ``(B, C) -> (B,)`` in float32.

    Args:
        first_logits: ``(B, C)``, p before the softmax.
        second_logits: ``(B, C)``, q before the softmax; gradients go both ways.
        base: of the logarithm.

    Examples:
        >>> import torch
        >>> jeffreys_divergence(torch.zeros(1, 2), torch.zeros(1, 2)).tolist()
        [0.0]
    """
    check_alike(2, first_logits=first_logits, second_logits=second_logits)
    first, second = (
        F.log_softmax(logits.float(), dim=1).clamp_min(math.log(SMALLEST)) for logits in (first_logits, second_logits)
    )
    return ((first.exp() - second.exp()) * (first - second)).sum(dim=1) / math.log(base)
