"""Nearest neighbours by inner product, in bounded memory: exact, or by cells where there are very many points."""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lond.identify.neighbour_cells import cell_neighbours
from lond.processes.rows import share_rows

BLOCK_BYTES = 64 * 2**20
"""Largest similarity block held at a time."""

FAISS_FROM = 8192
"""Rows of a bank from which on faiss searches it, where it is installed."""

EXACT_UP_TO = 100_000
"""Points up to which all pairs are compared."""

_logger = logging.getLogger("lond")


class Neighbours(NamedTuple):
    """The k nearest of each query: ``indices`` (Q, k) int64 and ``similarities`` (Q, k), most similar first.

    ``recall`` is the share of the true neighbours among them, measured on a sample; 1 for an exact search.

    Examples:
        >>> near = nearest_neighbours(torch.eye(2), 1)
        >>> near.indices.tolist(), near.similarities.tolist()
        ([[0], [1]], [[1.0], [1.0]])
    """

    indices: Tensor
    similarities: Tensor
    recall: float = 1.0

    def first(self, count: int) -> Neighbours:
        """Return the nearest ``count`` neighbours."""
        return Neighbours(self.indices[:, :count], self.similarities[:, :count], self.recall)


def nearest_neighbours(bank: Tensor, k: int, *, queries: Tensor | None = None, include_self: bool = True) -> Neighbours:
    """Return the k rows of ``bank`` (N, E) with the largest inner product with each query.

    With several processes, each searches for a share of the queries. The search is exact for given ``queries``, and for
    up to ``EXACT_UP_TO`` points of the bank itself. Above that, a point is compared only with those in nearby cells,
    which needs unit rows, and the log shows the recall.

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
    skip_self = queries is None and not include_self
    k = min(k, len(bank) - int(skip_self))
    if k < 1:
        raise ValueError("need k >= 1 and at least one candidate neighbour")
    if queries is None and len(bank) > EXACT_UP_TO:
        return _by_cells(bank, k, skip_self)
    points = bank if queries is None else queries

    def search(own: slice) -> tuple[Tensor, Tensor]:
        return _found(bank, points[own], k, own.start if skip_self else None)

    indices, similarities = share_rows(search, len(points))
    return Neighbours(indices, similarities)


def _found(bank: Tensor, points: Tensor, k: int, own_start: int | None) -> tuple[Tensor, Tensor]:
    """Return the neighbours of points; those that must not find themselves stand in the bank from ``own_start`` on."""
    if _faiss_serves(bank, points):
        found = _with_faiss(bank, points, k + int(own_start is not None))
        # What is not a number has no neighbours for faiss.
        if not (found[0] < 0).any():
            return found if own_start is None else _without_self(*found, own_start)
    return _in_blocks(bank, points, k, own_start)


def _by_cells(bank: Tensor, k: int, skip_self: bool) -> Neighbours:
    found = cell_neighbours(bank, k + int(skip_self), _exact)
    # Every point finds itself, which must not count where it is no neighbour.
    recall = max(0.0, (found.recall * (k + 1) - 1) / k) if skip_self else found.recall
    _logger.info(
        "neighbours of %s points by cells: each compared with %d of %d, recall %.3f on a sample",
        f"{len(bank):,}", found.compared, found.cells, recall,
    )  # fmt: skip
    near = found.indices, found.similarities
    return Neighbours(*(_without_self(*near) if skip_self else near), recall)


def _exact(bank: Tensor, queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
    found = nearest_neighbours(bank, k, queries=queries)
    return found.indices, found.similarities


def _without_self(indices: Tensor, similarities: Tensor, own_start: int = 0) -> tuple[Tensor, Tensor]:
    """Return all but the point itself from k + 1 neighbours of each point; all but the last where it is not found."""
    own = indices == own_start + torch.arange(len(indices), device=indices.device)[:, None]
    own[:, -1] |= ~own.any(dim=1)
    shape = len(indices), indices.shape[1] - 1
    return indices[~own].view(shape), similarities[~own].view(shape)


def _in_blocks(bank: Tensor, points: Tensor, k: int, own_start: int | None) -> tuple[Tensor, Tensor]:
    rows = max(1, BLOCK_BYTES // (4 * len(bank)))
    indices = torch.empty(len(points), k, dtype=torch.long, device=bank.device)
    values = torch.empty(len(points), k, dtype=bank.dtype, device=bank.device)
    for start in range(0, len(points), rows):
        similarities = points[start : start + rows] @ bank.T
        if own_start is not None:
            own = torch.arange(len(similarities), device=bank.device)
            similarities[own, own_start + start + own] = -torch.inf
        part = slice(start, start + rows)
        values[part], indices[part] = similarities.topk(k, dim=1)
    return indices, values


def _faiss_serves(bank: Tensor, points: Tensor) -> bool:
    plain = bank.device.type == "cpu" and bank.dtype == points.dtype == torch.float32
    return plain and len(bank) >= FAISS_FROM and len(points) > 0 and has_faiss()


@cache
def has_faiss() -> bool:
    """Return whether faiss is installed; without it, PyTorch searches."""
    return find_spec("faiss") is not None


def _with_faiss(bank: Tensor, points: Tensor, k: int) -> tuple[Tensor, Tensor]:
    import faiss

    library: Any = faiss
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(torch.get_num_threads())
    try:
        found = library.knn(points.detach().numpy(), bank.detach().numpy(), k, metric=library.METRIC_INNER_PRODUCT)
    finally:
        library.omp_set_num_threads(before)
    return torch.from_numpy(found[1]), torch.from_numpy(found[0])
