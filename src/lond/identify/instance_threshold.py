"""DISC's selection: every sample has its own threshold, the running mean of its confidence."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class InstanceSelection(NamedTuple):
    """DISC's selection of N samples; all tensors are ``(N,)``, and at most one of the masks is True.

    Examples:
        >>> sure = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
        >>> found = select_by_threshold(sure, sure, torch.tensor([0, 0]), torch.full((2, 2), 0.5))
        >>> type(found).__name__, found.clean.tolist()
        ('InstanceSelection', [True, False])
    """

    clean: Tensor
    """The label is trusted in both views."""
    hard: Tensor
    """The label is trusted in one view."""
    purified: Tensor
    """The label is trusted in no view, but both views together are sure of some class."""
    targets: Tensor
    """Label to train on: the given one, or the predicted one of purified and of unlabelled samples."""
    belief: Tensor
    """Mean probability of the target over both views."""


def select_by_threshold(
    weak: Tensor, strong: Tensor, labels: Tensor, thresholds: Tensor, *, margin: float = 0.5, cap: float = 0.99
) -> InstanceSelection:
    """Compare the probability of the given label, in each view, with the sample's threshold for that view.

    With ``m_v = [p_v[y] > tau_v]``: clean if both hold, hard if one does; purified if none does and
    ``max (p_w + p_s) / 2 > min((tau_w + tau_s) / 2 + sigma, cap)``.

    Args:
        weak: ``(N, C)`` p_w, probabilities of the weak view.
        strong: ``(N, C)`` p_s, those of the strong view.
        labels: ``(N,)`` given labels y; a negative one (unlabelled) is never trusted.
        thresholds: ``(N, 2)`` tau_w and tau_s.
        margin: sigma.
        cap: bound of the threshold for purified samples.

    Examples:
        >>> weak, strong = torch.tensor([[0.9, 0.1], [0.9, 0.1]]), torch.tensor([[0.9, 0.1], [0.4, 0.6]])
        >>> found = select_by_threshold(weak, strong, torch.tensor([0, 0]), torch.full((2, 2), 0.5))
        >>> found.clean.tolist(), found.hard.tolist()
        ([True, False], [False, True])
    """
    given = labels.clamp_min(0)[:, None]
    labelled = labels >= 0
    by_weak = (weak.gather(1, given).squeeze(1) > thresholds[:, 0]) & labelled
    by_strong = (strong.gather(1, given).squeeze(1) > thresholds[:, 1]) & labelled
    mean = (weak + strong) / 2
    confidence, predicted = mean.max(dim=1)
    sure = confidence > (thresholds.mean(dim=1) + margin).clamp_max(cap)
    purified = sure & ~(by_weak | by_strong)
    targets = torch.where(purified | ~labelled, predicted, labels)
    belief = mean.gather(1, targets[:, None]).squeeze(1)
    return InstanceSelection(by_weak & by_strong, by_weak ^ by_strong, purified, targets, belief)


def follow_confidence(thresholds: Tensor, weak: Tensor, strong: Tensor, memory: float) -> Tensor:
    """Return ``mu tau_v + (1 - mu) max_c p_v[c]`` for both views, ``(N, 2)``.

    Examples:
        >>> sure = torch.tensor([[0.75, 0.25]])
        >>> follow_confidence(torch.tensor([[0.25, 0.25]]), sure, sure, memory=0.5).tolist()
        [[0.5, 0.5]]
    """
    confidence = torch.stack([weak.amax(dim=1), strong.amax(dim=1)], dim=1)
    return memory * thresholds + (1 - memory) * confidence
