"""Classification by class prototypes in the embedding space (Eq. 1)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses.rows import check_alike


def prototype_logits(embeddings: Tensor, prototypes: Tensor, temperature: float) -> Tensor:
    """Return ``z . P_c / tau`` for unit embeddings ``(B, E)`` and unit prototypes ``(C, E)``, as ``(B, C)`` float32.

    Examples:
        >>> prototype_logits(torch.eye(2), torch.eye(2), temperature=0.5).tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """
    # Autocast would run this product in half precision, and 1 / tau magnifies its error.
    with torch.autocast(embeddings.device.type, enabled=False):
        return embeddings.float() @ prototypes.float().T / temperature


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return ``-sum_c t_c log softmax(logits)_c``; on prototype logits and one-hot targets this is Eq. 1.

    Args:
        logits: ``(B, C)``.
        targets: ``(B, C)``, rows sum to one.

    Returns:
        ``(B,)`` losses in float32.

    Examples:
        >>> round(soft_cross_entropy(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item(), 3)
        0.693
    """
    check_alike(2, logits=logits, targets=targets)
    log_probabilities = F.log_softmax(logits.float(), dim=1)
    return -(targets.detach().to(log_probabilities) * log_probabilities).sum(dim=1)
