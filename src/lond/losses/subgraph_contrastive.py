"""Instance and subgraph contrast of two views, the representation losses of Noisy Graph Cleaning."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_rows


def instance_contrastive(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Return the contrastive loss of identifying each sample's second view among all other views, given its first.

    With ``s_i = z_i . z'_i`` it is
    ``-log [exp(s_i / t) / (exp(s_i / t) + sum_{j != i} exp(z_i . z_j / t) + exp(z_i . z'_j / t))]``.

    Args:
        first: ``(B, E)`` unit embeddings z of the first views, the anchors.
        second: ``(B, E)`` unit embeddings z' of the second views.
        temperature: t.

    Returns:
        ``(B,)`` losses in float32.

    Examples:
        >>> [round(loss, 3) for loss in instance_contrastive(torch.eye(2), torch.eye(2), temperature=0.1).tolist()]
        [0.0, 0.0]
    """
    return -_log_shares(first, second, temperature)[:, : len(first)].diagonal()


def subgraph_contrastive(first: Tensor, second: Tensor, labels: Tensor, kept: Tensor, temperature: float) -> Tensor:
    """Return the contrastive loss averaged over all positives; kept samples with the same label are positives too.

    The positives P_i of sample i are its own second view and, if it is kept, both views of every other kept sample of
    its label: ``-1 / |P_i| sum_{p in P_i} log [exp(p / t) / (exp(s_i / t) + sum_{a in A_i} exp(a / t))]``, where A_i
    holds the products with both views of all other samples.

    Args:
        first: ``(B, E)`` unit embeddings of the first views, the anchors.
        second: ``(B, E)`` unit embeddings of the second views.
        labels: ``(B,)``; read where kept only.
        kept: ``(B,)`` bool, the trusted samples.
        temperature: t.

    Returns:
        ``(B,)`` losses in float32.

    Examples:
        >>> kept = torch.tensor([True, False])
        >>> losses = subgraph_contrastive(torch.eye(2), torch.eye(2), torch.tensor([0, 1]), kept, temperature=0.1)
        >>> losses.shape
        torch.Size([2])
    """
    itself = torch.eye(len(first), dtype=torch.bool, device=first.device)
    check_rows(first=first, labels=labels, kept=kept)
    friends = (labels[:, None] == labels[None, :]) & kept[:, None] & kept[None, :] & ~itself
    positives = torch.cat([friends | itself, friends], dim=1)
    log_shares = _log_shares(first, second, temperature)
    return -(positives * log_shares).sum(dim=1) / positives.sum(dim=1)


def _log_shares(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Return the log softmax over all views but the anchor: ``(B, 2 B)``, second views first; 0 for the anchor."""
    check_rows(first=first, second=second)
    itself = torch.eye(len(first), dtype=torch.bool, device=first.device)
    anchor = torch.cat([torch.zeros_like(itself), itself], dim=1)
    # Autocast would run this product in half precision, and 1 / t magnifies its error.
    with torch.autocast(first.device.type, enabled=False):
        products = first.float() @ torch.cat([second, first]).float().T / temperature
    return F.log_softmax(products.masked_fill(anchor, -torch.inf), dim=1).masked_fill(anchor, 0.0)
