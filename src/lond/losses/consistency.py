"""Consistency of the one-vs-all output under strong and weak views (Eq. 6)."""

from __future__ import annotations

from torch import Tensor

from lond.losses.one_vs_all import positive_probabilities
from lond.losses.rows import check_alike


def one_vs_all_consistency(strong_logits: Tensor, weak_logits: Tensor) -> Tensor:
    """Return ``sum_c sum_j (p^cj(strong) - p^cj(weak))^2`` (Eq. 6), ``(B, C, 2) -> (B,)`` in float32.

    Both probabilities of a class sum to one, so the two squared differences are equal.

    Examples:
        >>> import torch
        >>> one_vs_all_consistency(torch.zeros(1, 3, 2), torch.zeros(1, 3, 2)).tolist()
        [0.0]
    """
    check_alike(3, strong_logits=strong_logits, weak_logits=weak_logits)
    difference = positive_probabilities(strong_logits) - positive_probabilities(weak_logits)
    return 2 * difference.square().sum(dim=1)
