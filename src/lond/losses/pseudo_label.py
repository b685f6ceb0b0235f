"""Learning the prototypes from sharpened pseudo-labels (Eq. 13)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_alike, check_rows, check_tensors


def sharpen(probabilities: Tensor, exponents: Tensor | float) -> Tensor:
    """Return ``p_c^a / sum_j p_j^a`` (Eq. 13), computed in log space.

    Args:
        probabilities: ``(B, C)``, non-negative.
        exponents: one number, or ``(B,)`` with ``a_i = w(x_i) / T``; 0 gives the uniform distribution.

    Returns:
        ``(B, C)`` distributions.

    Examples:
        >>> [round(value, 2) for value in sharpen(torch.tensor([[0.75, 0.25]]), 2.0)[0].tolist()]
        [0.9, 0.1]
    """
    check_tensors(probabilities=probabilities)
    probabilities = probabilities.float()
    powers = torch.as_tensor(exponents, dtype=torch.float32, device=probabilities.device).reshape(-1, 1)
    if len(powers) > 1:
        check_rows(probabilities=probabilities, exponents=powers)
    logits = powers * probabilities.clamp_min(torch.finfo(torch.float32).tiny).log()
    # A zero stays zero, unless the exponent or the whole row is zero: those give the uniform distribution.
    zero = (probabilities == 0) & (powers > 0) & (probabilities > 0).any(dim=1, keepdim=True)
    return F.softmax(logits.masked_fill(zero, -torch.inf), dim=1)


def refined_targets(labels: Tensor, positives: Tensor, by_prototype: Tensor, temperature: float) -> Tensor:
    """Return the targets of clean samples: the given label mixed with the prototypes' prediction, then sharpened.

    The label's share is the largest one-vs-all positive, a mean over V views.

    Args:
        labels: ``(B, C)`` one-hot.
        positives: ``(V, B, C)`` one-vs-all probabilities.
        by_prototype: ``(V, B, C)`` softmax over the prototypes.
        temperature: T.

    Returns:
        ``(B, C)`` distributions.

    Examples:
        >>> sure, torn = torch.tensor([[[1.0, 0.2]]]), torch.tensor([[[0.5, 0.5]]])
        >>> refined_targets(torch.tensor([[1.0, 0.0]]), sure, torn, temperature=0.5).tolist()
        [[1.0, 0.0]]
    """
    check_rows(labels=labels, positives=positives[0], by_prototype=by_prototype[0])
    trust = positives.amax(dim=2).mean(dim=0).unsqueeze(1)
    return sharpen(trust * labels + (1 - trust) * by_prototype.mean(dim=0), 1 / temperature)


def voted_targets(positives: Tensor, by_prototype: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """Return the pseudo-labels of closed-set samples (Eq. 13): the mean prediction of both heads, sharpened by weight.

    Args:
        positives: ``(V, B, C)`` one-vs-all probabilities; each row is scaled to sum to one.
        by_prototype: ``(V, B, C)`` softmax over the prototypes.
        weights: ``(B,)`` of Eq. 12.
        temperature: T.

    Returns:
        ``(B, C)`` distributions.

    Examples:
        >>> one, other = torch.tensor([[[0.75, 0.25]]]), torch.tensor([[[0.25, 0.75]]])
        >>> voted_targets(one, other, torch.ones(1), temperature=0.5).tolist()
        [[0.5, 0.5]]
    """
    check_rows(positives=positives[0], by_prototype=by_prototype[0], weights=weights)
    scaled = positives / positives.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(positives.dtype).tiny)
    return sharpen((scaled + by_prototype).mean(dim=0) / 2, weights / temperature)


def pseudo_label_distance(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the squared L2 distance of ``softmax(logits)`` and the pseudo-label (Eq. 13), ``(B, C) -> (B,)``.

    Examples:
        >>> pseudo_label_distance(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).tolist()
        [0.5]
    """
    check_alike(2, logits=logits, targets=targets)
    probabilities = F.softmax(logits.float(), dim=1)
    return (probabilities - targets.detach().to(probabilities)).square().sum(dim=1)
