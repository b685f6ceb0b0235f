"""Generalised cross-entropy: between cross-entropy and mean absolute error, so that wrong labels weigh less."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_rows


def generalised_cross_entropy(logits: Tensor, labels: Tensor, exponent: float) -> Tensor:
    """Return ``(1 - p_y^q) / q``; q = 1 is the absolute error ``1 - p_y``, q -> 0 the cross-entropy.

    Zhang and Sabuncu, "Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels", Eq. 6.

    Args:
        logits: ``(B, C)``.
        labels: ``(B,)`` in ``0..C-1``.
        exponent: q in (0, 1].

    Returns:
        ``(B,)`` losses in float32.

    Examples:
        >>> generalised_cross_entropy(torch.zeros(1, 4), torch.tensor([0]), exponent=1.0).tolist()
        [0.75]
    """
    check_rows(logits=logits, labels=labels)
    log_probabilities = F.log_softmax(logits.float(), dim=1).gather(1, labels[:, None]).squeeze(1)
    # expm1 keeps the digits that 1 - p^q would lose for sure predictions.
    return -torch.expm1(exponent * log_probabilities) / exponent
