"""Exact nearest neighbours by inner product, in blocks of bounded memory."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from lond.processes.rows import share_rows

BLOCK_BYTES = 64 * 2**20
"""Largest similarity block held at a time."""


class Neighbours(NamedTuple):
    """The k nearest of each query: ``indices`` (Q, k) int64 and ``similarities`` (Q, k), most similar first.

    Examples:
        >>> near = nearest_neighbours(torch.eye(2), 1)
        >>> near.indices.tolist(), near.similarities.tolist()
        ([[0], [1]], [[1.0], [1.0]])
    """

    indices: Tensor
    similarities: Tensor

    def first(self, count: int) -> Neighbours:
        """Return the nearest ``count`` of them."""
        return Neighbours(self.indices[:, :count], self.similarities[:, :count])


def nearest_neighbours(bank: Tensor, k: int, *, queries: Tensor | None = None, include_self: bool = True) -> Neighbours:
    """Return the k rows of ``bank`` (N, E) with the largest inner product with each query.

    Processes that work together search for a share of the queries each.

    Args:
        bank: ``(N, E)``; unit rows make the inner product a cosine.
        k: how many neighbours; capped by what the bank holds. Ties (exact duplicates) are broken arbitrarily.
        queries: ``(Q, E)``; the bank itself if None.
        include_self: whether a bank row may be its own neighbour (only without ``queries``).

    Raises:
        ValueError: k is not positive, or the bank holds no candidate.

    Examples:
        >>> bank = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
        >>> nearest_neighbours(bank, 1, include_self=False).indices.tolist()
        [[1], [0], [1]]
    """
    points = bank if queries is None else queries
    skip_self = queries is None and not include_self
    k = min(k, len(bank) - int(skip_self))
    if k < 1:
        raise ValueError("need k >= 1 and at least one candidate neighbour")
    return Neighbours(
        *share_rows(lambda own: _found(points[own], bank, k, own.start if skip_self else None), len(points))
    )


def _found(points: Tensor, bank: Tensor, k: int, own_start: int | None) -> Neighbours:
    """Return the neighbours of points; those that must not find themselves stand in the bank from ``own_start`` on."""
    rows = max(1, BLOCK_BYTES // (4 * len(bank)))
    found = [
        _block(points[start : start + rows], bank, k, None if own_start is None else own_start + start)
        for start in range(0, len(points), rows)
    ]
    if not found:
        return Neighbours(torch.empty(0, k, dtype=torch.long, device=bank.device), bank.new_empty(0, k))
    return Neighbours(torch.cat([f.indices for f in found]), torch.cat([f.similarities for f in found]))


def _block(block: Tensor, bank: Tensor, k: int, own_start: int | None) -> Neighbours:
    similarities = block @ bank.T
    if own_start is not None:
        rows = torch.arange(len(block), device=bank.device)
        similarities[rows, own_start + rows] = -torch.inf
    values, indices = similarities.topk(k, dim=1)
    return Neighbours(indices, values)
