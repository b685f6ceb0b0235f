"""Jensen-Shannon divergence, by which Jo-SRC, UNICON and NCE compare predictions with labels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lond.losses.rows import check_tensors


def jensen_shannon(first: Tensor, second: Tensor, base: float = 2.0) -> Tensor:
    """Return ``KL(p || m) / 2 + KL(q || m) / 2`` with ``m = (p + q) / 2``.

    Args:
        first: ``(..., C)`` p, non-negative; zeros count as ``0 log 0 = 0``.
        second: ``(..., C)`` q; the dimensions before the classes are broadcast.
        base: of the logarithm; with 2 the divergence of distributions lies in [0, 1].

    Returns:
        ``(...)`` in float32.

    Raises:
        ValueError: the distributions differ in their number of classes.

    Examples:
        >>> jensen_shannon(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])).item()
        1.0
    """
    check_tensors(first=first, second=second)
    if first.shape[-1:] != second.shape[-1:]:
        shapes = f"{tuple(first.shape)} and {tuple(second.shape)}"
        raise ValueError(f"distributions must be of as many classes, not {shapes}")
    first, second = torch.broadcast_tensors(first.float(), second.float())
    middle = (first + second) / 2
    nats = (_relative_entropy(first, middle) + _relative_entropy(second, middle)) / 2
    return nats / math.log(base)


def jensen_shannon_to_label(probability: Tensor, base: float = 2.0) -> Tensor:
    """Return the divergence of a prediction from a one-hot label, which depends only on the label's probability q.

    ``log 2 + (q log q - (1 + q) log(1 + q)) / 2``; any shape in, the same shape out.

    Examples:
        >>> jensen_shannon_to_label(torch.tensor([0.0, 1.0])).tolist()
        [1.0, 0.0]
    """
    check_tensors(probability=probability)
    q = probability.double()
    nats = math.log(2) + (torch.xlogy(q, q) - torch.xlogy(1 + q, 1 + q)) / 2
    return (nats.clamp_min(0) / math.log(base)).float()


def _relative_entropy(p: Tensor, m: Tensor) -> Tensor:
    tiny = torch.finfo(torch.float32).tiny
    # Not xlogy: its gradient at 0 is infinite.
    return (p * (p.clamp_min(tiny).log() - m.clamp_min(tiny).log())).sum(dim=-1)
