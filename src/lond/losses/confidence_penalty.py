"""Terms that keep predictions from growing too sure, or from collapsing onto few classes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_tensors


def negative_entropy(logits: Tensor, *, clamp_logits: bool = False) -> Tensor:
    """Return the confidence penalty ``sum_c p_c log p_c`` (at most 0), ``(B, C) -> (B,)``.

    ``clamp_logits`` first lifts negative logits to 0, as the released programs of NPN and SED do.

    Examples:
        >>> round(negative_entropy(torch.zeros(1, 2)).item(), 3)
        -0.693
    """
    check_tensors(logits=logits)
    logits = logits.float()
    log_probabilities = F.log_softmax(logits.clamp_min(1e-12) if clamp_logits else logits, dim=1)
    return (log_probabilities.exp() * log_probabilities).sum(dim=1)


def prior_penalty(probabilities: Tensor) -> Tensor:
    """Return ``sum_c (1/C) log((1/C) / mean_i p_ic)``: 0 if the mean prediction is uniform, ``(B, C) -> (1,)``.

    Examples:
        >>> prior_penalty(torch.full((4, 2), 0.5)).abs().tolist()
        [0.0]
    """
    check_tensors(probabilities=probabilities)
    mean = probabilities.float().mean(dim=0).clamp_min(torch.finfo(torch.float32).tiny)
    return -(mean * len(mean)).log().mean().reshape(1)
