"""The last layer of a network, read from what it does to features."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lond.errors import ConfigError

Head = Callable[[Tensor], Tensor]
"""Maps features ``(B, D)`` to logits ``(B, C)``."""


@torch.no_grad()
def last_layer(head: Head, features: Tensor) -> tuple[Tensor, Tensor]:
    """Return weight ``(C, D)`` and bias ``(C,)`` of a linear head, float32, beside the features.

    They are read from the outputs for zero and for the unit vectors, so that any network will do, also one that sums
    or subtracts the outputs of several layers.

    Args:
        head: the last layer.
        features: ``(N, D)``; the head is tried on a few of them.

    Raises:
        ConfigError: the head is not linear.
    """
    size = features.shape[1]
    bias = head(torch.zeros(1, size, device=features.device)).float()
    weight = (head(torch.eye(size, device=features.device)).float() - bias).T
    tried = features[:4].to(bias.device, torch.float32)
    expected, found = tried @ weight.T + bias, head(tried).float()
    if len(tried) and not torch.allclose(expected, found, rtol=1e-3, atol=1e-3 * float(found.abs().max().clamp(min=1))):
        raise ConfigError("this detector needs a linear last layer; the head that it was given is not linear")
    return weight.to(features.device), bias.squeeze(0).to(features.device)
