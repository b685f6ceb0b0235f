"""The open-world score of the dual representation space (Eq. 15)."""

from __future__ import annotations

from torch import Tensor


def open_world_score(negatives: Tensor, class_scores: Tensor) -> Tensor:
    """Return ``p^{y'}(z=0|x)`` with y' the class of the nearest prototype (Eq. 15); larger = more foreign.

    Args:
        negatives: ``(B, C)`` one-vs-all negative probabilities.
        class_scores: ``(B, C)``; their argmax is y' (prototype logits, or any other class scores).

    Returns:
        ``(B,)`` scores in [0, 1].
    """
    return negatives.gather(1, class_scores.argmax(dim=1, keepdim=True)).squeeze(1)
