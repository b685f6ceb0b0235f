"""Label propagation on a neighbour graph, the graph-based correction of Noisy Graph Cleaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.identify.neighbours import Neighbours


@dataclass(frozen=True)
class NeighbourGraph:
    """The symmetric graph ``S = D^-1/2 (W + W^T) D^-1/2``, stored as outgoing and incoming edges of N nodes.

    ``targets`` and ``weights`` are ``(N, k)``: the k edges W that leave each node. ``sources`` and
    ``source_weights`` are ``(N k,)``: the edges W^T, those into node i from place ``starts[i]`` on. ``scale`` is
    ``(N, 1)``, ``D^-1/2``.

    Examples:
        >>> from lond.identify.neighbours import nearest_neighbours
        >>> embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> graph = neighbour_graph(nearest_neighbours(embeddings, 1, include_self=False))
        >>> graph.targets.shape
        torch.Size([3, 1])
    """

    targets: Tensor
    weights: Tensor
    sources: Tensor
    source_weights: Tensor
    starts: Tensor
    scale: Tensor

    def product(self, columns: Tensor) -> Tensor:
        """Return ``S X`` for X ``(N, C)``."""
        # Weighted sums of rows are sparse x dense products; on a CPU this is several times faster than torch.sparse.
        scaled = self.scale * columns
        leaving = F.embedding_bag(self.targets, scaled, mode="sum", per_sample_weights=self.weights)
        entering = F.embedding_bag(
            self.sources, scaled, self.starts, mode="sum", per_sample_weights=self.source_weights
        )
        return self.scale * (leaving + entering)


def neighbour_graph(near: Neighbours, power: float = 3.0) -> NeighbourGraph:
    """Return the graph of edges ``W_ij = max(0, z_i . z_j)^power`` to the neighbours j of i, symmetrised.

    Nodes are not joined to themselves, and a node without any edge has degree 1.

    Args:
        near: the k neighbours of each of N samples among the N, and their similarities.
        power: what similarities are raised to.

    Examples:
        >>> from lond.identify.neighbours import nearest_neighbours
        >>> near = nearest_neighbours(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 1, include_self=False)
        >>> neighbour_graph(near).weights.tolist()
        [[1.0], [1.0], [0.0]]
    """
    nodes, k = near.indices.shape
    itself = near.indices == torch.arange(nodes, device=near.indices.device)[:, None]
    weights = near.similarities.clamp_min(0).pow(power).masked_fill(itself, 0)
    flat, places = near.indices.flatten().sort(stable=True)
    counts = torch.bincount(flat, minlength=nodes)
    source_weights = weights.flatten()[places]
    degrees = weights.sum(dim=1).index_add(0, flat, source_weights)
    scale = torch.where(degrees > 0, degrees, 1).rsqrt().unsqueeze(1)
    return NeighbourGraph(near.indices, weights, places // k, source_weights, counts.cumsum(0) - counts, scale)


def propagate_labels(
    graph: NeighbourGraph, start: Tensor, strength: float = 0.5, tolerance: float = 1e-6, iterations: int = 20
) -> Tensor:
    """Return the label beliefs F with ``(I - strength S) F = Y``.

    Each column of the start labels is scaled to sum 1 first, so all classes have the same total weight. Of the
    solution negative values become 0 and rows are scaled to sum 1; a row that no label reaches stays 0.

    Args:
        graph: of N samples.
        start: ``(N, C)`` labels, not negative.
        strength: how far labels travel, in [0, 1).
        tolerance: a column is solved when its residual is this small, relative to its right-hand side.
        iterations: at most this many.

    Returns:
        ``(N, C)``, of the type of ``start``.

    Examples:
        >>> from lond.identify.neighbours import nearest_neighbours
        >>> near = nearest_neighbours(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 1, include_self=False)
        >>> start = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])  # the second has no label
        >>> propagate_labels(neighbour_graph(near), start).argmax(dim=1).tolist()
        [0, 0, 1]
    """
    tiny = torch.finfo(start.dtype).tiny
    balanced = start / start.sum(dim=0).clamp_min(tiny)
    solution = conjugate_gradients(lambda x: x - strength * graph.product(x), balanced, tolerance, iterations)
    solution = solution.clamp_min(0)
    return solution / solution.sum(dim=1, keepdim=True).clamp_min(tiny)


def conjugate_gradients(
    product: Callable[[Tensor], Tensor], right: Tensor, tolerance: float = 1e-6, iterations: int = 20
) -> Tensor:
    """Solve ``A X = B`` for a symmetric positive definite A, all columns at once, each with its own step lengths.

    Args:
        product: maps X ``(N, C)`` to ``A X``.
        right: ``(N, C)`` B.
        tolerance: a column rests once its residual is at most this times the length of its right-hand side.
        iterations: at most this many products.

    Examples:
        >>> matrix = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> conjugate_gradients(lambda x: matrix @ x, torch.tensor([[2.0], [2.0]])).tolist()
        [[1.0], [0.5]]
    """
    solution, residual, direction = torch.zeros_like(right), right, right
    squares = right.square().sum(dim=0)
    limits = tolerance**2 * squares
    for _ in range(iterations):
        open_columns = squares > limits
        if not open_columns.any():
            break
        image = product(direction)
        step = torch.where(open_columns, squares / (direction * image).sum(dim=0), 0)
        solution = solution + step * direction
        residual = residual - step * image
        fresh = residual.square().sum(dim=0)
        direction = residual + torch.where(open_columns, fresh / squares, 0) * direction
        squares = torch.where(open_columns, fresh, squares)
    return solution
