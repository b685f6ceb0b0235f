"""Jo-SRC's selection: clean samples by a rising threshold, closed-set noise by the agreement of two views."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Assignment(NamedTuple):
    """Disjoint masks ``(B,)`` for clean, closed-set and open-set samples that cover the batch.

    Examples:
        >>> import torch
        >>> empty = torch.zeros(2, dtype=torch.bool)
        >>> Assignment(~empty, empty, empty).clean.tolist()
        [True, True]
    """

    clean: Tensor
    closed: Tensor
    open: Tensor


def rising_threshold(epoch: int, warmup_epochs: int, rise_epochs: int, base: float, final: float) -> float:
    """Return the threshold of an epoch, counted from 0.

    It rises from 0 to ``base`` during warm-up, ``base * e / T_w``, then to ``final`` within ``rise_epochs`` (0: at
    once), where it stays.

    Examples:
        >>> [rising_threshold(epoch, 4, 4, base=0.5, final=0.75) for epoch in (0, 2, 4, 6, 8, 20)]
        [0.0, 0.25, 0.5, 0.625, 0.75, 0.75]
    """
    if epoch < warmup_epochs:
        return base * epoch / warmup_epochs
    share = min(1.0, (epoch - warmup_epochs) / rise_epochs) if rise_epochs else 1.0
    return base + (final - base) * share


def assign_by_views(likelihood: Tensor, labels: Tensor, threshold: float, first: Tensor, second: Tensor) -> Assignment:
    """Return which samples are clean, closed-set noise or open-set noise.

    Samples whose likelihood reaches the threshold are clean. Of the others, those with the same predicted class in
    both views are closed-set noise, the rest open-set noise. Unlabelled samples are never clean.

    Args:
        likelihood: ``(B,)`` of being clean, in [0, 1].
        labels: ``(B,)`` given labels; negative = unlabelled.
        threshold: the least likelihood of a clean sample.
        first: ``(B,)`` class predicted for the first view.
        second: ``(B,)`` class predicted for the second view.

    Examples:
        >>> import torch
        >>> first, second = torch.tensor([0, 1, 0]), torch.tensor([0, 1, 1])
        >>> found = assign_by_views(torch.tensor([0.9, 0.2, 0.3]), torch.tensor([0, 0, 0]), 0.5, first, second)
        >>> found.clean.tolist(), found.closed.tolist(), found.open.tolist()
        ([True, False, False], [False, True, False], [False, False, True])
    """
    clean = (likelihood >= threshold) & (labels >= 0)
    agree = first == second
    return Assignment(clean, ~clean & agree, ~clean & ~agree)
