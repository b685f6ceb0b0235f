"""In which part of the images each is judged, by a model that was trained on the other parts."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.errors import DataError
from lond.seeds import generator

FOLDS = 5
"""Parts in which images are judged, each by heads trained on the others."""

LARGEST_GROUP = 0.5
"""Share of its label's images up to which a group of near copies is kept together."""


def count_folds(labels: Tensor) -> int:
    """Return in how many parts images of given labels ``(N,)`` are judged: ``FOLDS``, fewer where labels are few."""
    return max(2, min(FOLDS, int((labels >= 0).sum()) // 2))


def fold_of(labels: Tensor, folds: int, seed: int, together: Tensor | None = None) -> Tensor:
    """Return the fold ``(N,)`` of each sample: random, and every class spread evenly.

    Args:
        labels: ``(N,)`` given labels; unlabelled ones are negative.
        folds: how many.
        seed: of the division.
        together: ``(N,)``, for each sample the first of its group (itself if it has none). A group is kept in one fold
            unless its label would have few other images left to learn from, or a fold would be left empty.

    Raises:
        DataError: there are fewer than two labelled samples per fold.
    """
    if int((labels >= 0).sum()) < 2 * folds:
        raise DataError(f"{int((labels >= 0).sum())} labelled images are too few for {folds} folds")
    order = torch.randperm(len(labels), generator=generator(seed, "folds"))
    by_class = order[labels[order].argsort(stable=True)]
    division = torch.empty(len(labels), dtype=torch.long)
    division[by_class] = torch.arange(len(labels)) % folds
    joined = division if together is None else _joined(division, labels, together, folds)
    return joined if len(joined.unique()) == folds else division


def _joined(division: Tensor, labels: Tensor, together: Tensor, folds: int) -> Tensor:
    """Return the division with whole groups moved, each to the fold that has the fewest images of its label."""
    groups = _groups(labels, together)
    moved = torch.zeros(len(labels), dtype=torch.bool)
    for members in groups:
        moved[members] = True
    # Row 0 is for the unlabelled.
    places = (labels.clamp_min(-1) + 1) * folds + division
    counts = torch.bincount(places[~moved], minlength=(int(labels.max()) + 2) * folds).view(-1, folds)
    division = division.clone()
    for members in groups:
        row = counts[max(-1, int(labels[members].max())) + 1]
        fold = int(row.argmin())
        division[members] = fold
        row[fold] += len(members)
    return division


def _groups(labels: Tensor, together: Tensor) -> list[Tensor]:
    """Return the members of each group that is kept together, the largest first."""
    sizes = torch.bincount(together, minlength=len(labels))
    own = torch.bincount(labels[labels >= 0], minlength=int(labels.max()) + 1)
    grouped = (sizes[together] > 1).nonzero().squeeze(1)
    grouped = grouped[together[grouped].argsort(stable=True)]
    found = grouped.split(sizes[together[grouped].unique()].tolist()) if len(grouped) else ()
    kept = []
    for members in found:
        label = int(labels[members].max())
        if label < 0 or len(members) <= LARGEST_GROUP * int(own[label]):
            kept.append(members)
    return sorted(kept, key=len, reverse=True)
