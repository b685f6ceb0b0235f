"""Which samples two heads pick for each other: by adaptive confidence, by agreement, by small loss (CIR)."""

from __future__ import annotations

import torch
from torch import Tensor


def learning_state(probabilities: Tensor, threshold: float) -> Tensor:
    """Return how well each class is learned, relative to the best one.

    ``g_c = n_c / max_k n_k``, where ``n_c`` samples are predicted as c with a probability above the threshold.

    Args:
        probabilities: ``(N, C)`` softmax predictions.
        threshold: tau.

    Returns:
        ``(C,)`` in [0, 1]; all 1 as long as no sample passes the threshold.

    Examples:
        >>> learning_state(torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]), threshold=0.5).tolist()
        [1.0, 0.5]
    """
    highest, predicted = probabilities.max(dim=1)
    counts = torch.bincount(predicted[highest > threshold], minlength=probabilities.shape[1]).float()
    return counts / counts.max() if counts.any() else torch.ones_like(counts)


def select_confident(probabilities: Tensor, labels: Tensor, threshold: float) -> Tensor:
    """Return the mask ``(N,)`` of samples predicted as their label y with a probability above ``tau g_y``.

    Args:
        probabilities: ``(N, C)`` softmax predictions.
        labels: ``(N,)`` given labels; unlabelled (negative) samples are never chosen.
        threshold: tau, lowered for classes that are learned slowly; see ``learning_state``.

    Examples:
        >>> select_confident(torch.tensor([[0.9, 0.1], [0.6, 0.4]]), torch.tensor([0, 0]), threshold=0.8).tolist()
        [True, False]
    """
    state = learning_state(probabilities, threshold)
    highest, predicted = probabilities.max(dim=1)
    return (predicted == labels) & (highest > threshold * state[predicted])


def select_agreeing(positives: Tensor, labels: Tensor) -> Tensor:
    """Return the mask ``(N,)`` of samples whose most probable class is their label; ``positives`` is ``(N, C)``.

    Examples:
        >>> select_agreeing(torch.tensor([[0.9, 0.1], [0.2, 0.3]]), torch.tensor([0, 0])).tolist()
        [True, False]
    """
    return positives.argmax(dim=1) == labels


def select_small_loss(losses: Tensor, labels: Tensor, share: float) -> Tensor:
    """Return the mask ``(N,)`` of the ``floor(share * n_c)`` samples with the smallest loss of each class.

    Of a class too small for its share one sample is taken, lest the class be lost; a share of 0 takes none.

    Args:
        losses: ``(N,)``; those of unlabelled samples do not matter.
        labels: ``(N,)`` given labels; unlabelled (negative) samples are never chosen.
        share: of each class.

    Examples:
        >>> select_small_loss(torch.tensor([0.1, 2.0, 0.5]), torch.tensor([0, 0, 1]), share=0.5).tolist()
        [True, False, True]
    """
    order = losses.argsort(stable=True)
    order = order[labels[order].argsort(stable=True)]
    classes, sizes = labels[order].unique_consecutive(return_counts=True)
    first = torch.cumsum(sizes, dim=0) - sizes
    # The small term undoes the float error of shares such as 0.29 * 100.
    quotas = (share * sizes + 1e-6).long().clamp_min(int(share > 0)).where(classes >= 0, 0)
    rank = torch.arange(len(labels), device=labels.device) - first.repeat_interleave(sizes)
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    chosen[order] = rank < quotas.repeat_interleave(sizes)
    return chosen
