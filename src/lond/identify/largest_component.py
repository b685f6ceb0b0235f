"""The largest connected component of every class, the geometry-based selection of Noisy Graph Cleaning."""

from __future__ import annotations

import torch
from torch import Tensor


def largest_components(neighbours: Tensor, labels: Tensor, candidates: Tensor) -> Tensor:
    """Keep, for each class, the largest set of candidates connected by mutual neighbours.

    Two candidates of one label are joined if each is among the other's neighbours. Of equally large components that
    with the lowest index is kept; a class without candidates keeps nothing.

    Args:
        neighbours: ``(N, k)`` distinct neighbours of each sample.
        labels: ``(N,)`` in ``0..C-1``; may be negative where there is no candidate.
        candidates: ``(N,)`` bool.

    Returns:
        ``(N,)`` bool, the kept samples.

    Examples:
        >>> neighbours = torch.tensor([[1], [0], [3], [2], [0]])
        >>> candidates = torch.tensor([True, True, True, False, True])
        >>> largest_components(neighbours, torch.zeros(5, dtype=torch.long), candidates).tolist()
        [True, True, False, False, False]
    """
    kept = torch.zeros_like(candidates)
    members = candidates.nonzero().squeeze(1)
    if not len(members):
        return kept
    nodes = len(labels)
    roots = connected_components(nodes, *mutual_pairs(neighbours, torch.where(candidates, labels, -1)))[members]
    sizes = torch.bincount(roots, minlength=nodes)[roots]
    classes = labels[members]
    # The size decides, and among equal sizes the lower root, which is the lowest index of the component.
    ranks = sizes * nodes + (nodes - 1 - roots)
    best = ranks.new_full((int(classes.max()) + 1,), -1).scatter_reduce_(0, classes, ranks, "amax")
    kept[members] = ranks == best[classes]
    return kept


def mutual_pairs(neighbours: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
    """Return the pairs of mutual neighbours within each group, each pair once.

    Args:
        neighbours: ``(N, k)`` distinct neighbours of each sample.
        groups: ``(N,)``; negative samples are in no group.

    Returns:
        Two ``(M,)`` index tensors, the lower index first.

    Examples:
        >>> mutual_pairs(torch.tensor([[1], [0], [0]]), torch.zeros(3, dtype=torch.long))
        (tensor([0]), tensor([1]))
    """
    same = (groups[neighbours] == groups[:, None]) & (groups >= 0)[:, None]
    one, place = same.nonzero(as_tuple=True)
    other = neighbours[one, place]
    keys = torch.minimum(one, other) * len(neighbours) + torch.maximum(one, other)
    keys = keys.sort().values
    # A neighbour list holds nobody twice, so a pair that occurs twice was found from both sides.
    keys = keys[1:][keys[1:] == keys[:-1]]
    return keys // len(neighbours), keys % len(neighbours)


def connected_components(nodes: int, one: Tensor, other: Tensor) -> Tensor:
    """Return for each of ``nodes`` nodes the lowest index of its component.

    Every round hangs the root of each tree below the lowest root that an edge leads to, then lets all nodes point at
    their root, until no edge joins two trees.

    Args:
        nodes: N.
        one: ``(M,)`` one end of each edge.
        other: ``(M,)`` the other end.

    Examples:
        >>> connected_components(4, torch.tensor([0, 2]), torch.tensor([1, 3])).tolist()
        [0, 0, 2, 2]
    """
    parents = torch.arange(nodes, device=one.device)
    while True:
        one, other = parents[one], parents[other]
        apart = one != other
        one, other = one[apart], other[apart]
        if not len(one):
            return parents
        parents.scatter_reduce_(0, torch.maximum(one, other), torch.minimum(one, other), "amin")
        while not torch.equal(parents, grandparents := parents[parents]):
            parents = grandparents
