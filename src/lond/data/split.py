"""Parts of a sample set."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from lond.data.pixels import subset
from lond.errors import ConfigError
from lond.seeds import generator
from lond.types import Samples


def take(samples: Samples, indices: Tensor) -> Samples:
    """Return the samples at ``indices`` ``(M,)``, in that order.

    Examples:
        >>> import numpy as np
        >>> from lond.data.sources import load
        >>> samples = load((np.zeros((4, 8, 8, 3), dtype=np.uint8), ["cat", "dog", "cat", "dog"]))
        >>> take(samples, torch.tensor([3, 0])).labels.tolist()
        [1, 0]
    """
    return replace(
        samples,
        pixels=subset(samples.pixels, indices),
        labels=samples.labels[indices],
        ids=tuple(samples.ids[index] for index in indices.tolist()),
        true_labels=None if samples.true_labels is None else samples.true_labels[indices],
        confirmed=None if samples.confirmed is None else samples.confirmed[indices],
    )


def hold_out(labels: Tensor, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Return the indices to train on and those held out: the share of every class, rounded down, drawn at random.

    Args:
        labels: ``(N,)`` given labels; unlabelled samples (negative) are all trained on.
        share: of each class.
        seed: the split's own seed.

    Raises:
        ConfigError: the share is not in [0, 1).

    Examples:
        >>> trained, held = hold_out(torch.tensor([0] * 10 + [1] * 10), share=0.2, seed=0)
        >>> len(trained), len(held)
        (16, 4)
    """
    if not 0 <= share < 1:
        raise ConfigError(f"the share to hold out must lie in [0, 1), not {share}")
    order = torch.randperm(len(labels), generator=generator(seed, "split"))
    held = torch.zeros(len(labels), dtype=torch.bool)
    for label in labels.unique().tolist():
        members = order[labels[order] == label]
        if label >= 0:
            # The small term undoes the float error of products such as 0.29 * 100.
            held[members[: int(share * len(members) + 1e-9)]] = True
    return (~held).nonzero().squeeze(1), held.nonzero().squeeze(1)


def even_folds(labels: Tensor, folds: int, seed: int) -> Tensor:
    """Return the fold ``(N,)`` of each sample, drawn at random with every class spread evenly.

    Args:
        labels: ``(N,)`` given labels; unlabelled samples are negative.
        folds: how many.
        seed: the split's own seed.

    Examples:
        >>> division = even_folds(torch.tensor([0] * 6 + [1] * 6), folds=3, seed=0)
        >>> division[:6].sort().values.tolist()
        [0, 0, 1, 1, 2, 2]
    """
    order = torch.randperm(len(labels), generator=generator(seed, "folds"))
    division = torch.empty(len(labels), dtype=torch.long)
    division[order[labels[order].argsort(stable=True)]] = torch.arange(len(labels)) % folds
    return division
