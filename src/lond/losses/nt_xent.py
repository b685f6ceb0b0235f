"""Contrast of two views without labels (SimCLR), as UNICON applies it to unlabelled samples."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_alike


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Return ``-log [exp(z_i . z_i' / tau) / sum_{r != i} exp(z_i . z_r / tau)]`` of every view.

    Args:
        first: ``(B, E)`` unit vectors of one view of B samples.
        second: ``(B, E)`` of another view of the same samples.
        temperature: tau.

    Returns:
        ``(2B,)`` losses in float32, those of the first view before those of the second.

    Examples:
        >>> nt_xent(torch.eye(2), torch.eye(2), temperature=0.5).shape
        torch.Size([4])
    """
    check_alike(2, first=first, second=second)
    embeddings = torch.cat([first, second])
    # Autocast would run this product in half precision, and 1 / tau magnifies its error.
    with torch.autocast(embeddings.device.type, enabled=False):
        similarities = embeddings.float() @ embeddings.float().T / temperature
    itself = torch.eye(len(embeddings), dtype=torch.bool, device=embeddings.device)
    other_view = torch.arange(len(embeddings), device=embeddings.device).roll(len(first))
    return F.cross_entropy(similarities.masked_fill(itself, -torch.inf), other_view, reduction="none")
