"""Nearest neighbours of very many points: the space is divided into cells, and each is compared with those around it.

The points of a cell share their candidates, so that the search consists of matrix products. How many cells are looked
at follows from a sample whose true neighbours are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Search = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""Exact search: from a bank ``(N, E)``, queries ``(Q, E)`` and k to indices and similarities, both ``(Q, k)``."""

RECALL = 0.97
"""Share of the true neighbours of a sample that must be found."""

SAMPLE = 512
"""Points whose true neighbours are looked for, to choose how many cells are compared."""

POINTS_A_CELL = 32
"""Points for each cell that its centre is learned from."""

ROUNDS = 6
"""Rounds in which the centres are learned."""

MOST_SHARE = 0.125
"""Share of all cells that is compared at most; beyond it the index would save nothing."""

ROWS = 65_536
"""Points that are assigned to cells at a time."""


class CellNeighbours(NamedTuple):
    """Indices and similarities ``(N, k)`` of the neighbours, and the share of true ones among them on a sample."""

    indices: Tensor
    similarities: Tensor
    recall: float
    cells: int
    compared: int


def cell_neighbours(bank: Tensor, k: int, search: Search) -> CellNeighbours:
    """Return about the k nearest of each of N points ``(N, E)``, itself among them; most similar first.

    The points must be more than ``k`` times the number of cells, which is about four square roots of N.

    Args:
        bank: unit vectors.
        k: how many.
        search: an exact search.
    """
    count = max(1, min(round(4 * math.sqrt(len(bank))), len(bank) // (4 * k)))
    centres = learn_centres(bank, count, search)
    own = nearest_centre(bank, centres, search)
    around = search(centres, centres, count)[0]
    compared, recall = enough_cells(bank, k, own, around, search)
    order = own.argsort(stable=True)
    sizes = torch.bincount(own, minlength=count)
    members = order.split(sizes.tolist())
    indices = torch.empty(len(bank), k, dtype=torch.long, device=bank.device)
    similarities = bank.new_empty(len(bank), k)
    for cell, inside in enumerate(members):
        if not len(inside):
            continue
        enough = compared
        # Small cells around may hold fewer than k points.
        while int(sizes[around[cell, :enough]].sum()) < k:
            enough *= 2
        candidates = torch.cat([members[other] for other in around[cell, :enough].tolist()])
        found, values = search(bank[candidates], bank[inside], k)
        indices[inside], similarities[inside] = candidates[found], values
    return CellNeighbours(indices, similarities, recall, count, compared)


def learn_centres(bank: Tensor, count: int, search: Search) -> Tensor:
    """Return ``count`` centres of cells, unit vectors ``(count, E)``, by spherical k-means from evenly spread rows."""
    points = bank[:: max(1, len(bank) // (count * POINTS_A_CELL))]
    centres = points[:: max(1, len(points) // count)][:count].clone()
    for _ in range(ROUNDS):
        own = nearest_centre(points, centres, search)
        sums = torch.zeros_like(centres).index_add_(0, own, points)
        filled = torch.bincount(own, minlength=count) > 0
        # A centre without points stays where it is.
        centres = torch.where(filled[:, None], torch.nn.functional.normalize(sums, dim=1), centres)
    return centres


def nearest_centre(points: Tensor, centres: Tensor, search: Search) -> Tensor:
    """Return the nearest centre of each point, ``(N,)``."""
    return torch.cat([search(centres, part, 1)[0].squeeze(1) for part in points.split(ROWS)])


def enough_cells(bank: Tensor, k: int, own: Tensor, around: Tensor, search: Search) -> tuple[int, float]:
    """Return how many cells around its own each point is compared with, and the share of neighbours found on a sample.

    Args:
        bank: ``(N, E)``.
        k: neighbours.
        own: ``(N,)`` cell of each point.
        around: ``(cells, cells)`` all cells, the nearest to each first.
        search: an exact search.
    """
    sample = torch.arange(0, len(bank), max(1, len(bank) // SAMPLE), device=bank.device)
    true = search(bank, bank[sample], k)[0]
    ranks = torch.empty_like(around).scatter_(
        1, around, torch.arange(len(around), device=bank.device).expand_as(around)
    )
    needed = ranks[own[sample][:, None], own[true]].flatten().sort().values
    most = max(1, math.ceil(MOST_SHARE * len(around)))
    enough = min(most, int(needed[math.ceil(RECALL * len(needed)) - 1]) + 1)
    return enough, float((needed < enough).float().mean())
