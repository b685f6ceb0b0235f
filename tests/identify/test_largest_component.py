"""Components of mutual neighbours against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csgraph
from torch import Tensor

from lond.identify import connected_components, largest_components, mutual_pairs


def slow_roots(nodes: int, one: Tensor, other: Tensor) -> list[int]:
    graph = coo_matrix((np.ones(len(one)), (one.numpy(), other.numpy())), shape=(nodes, nodes))
    _, names = csgraph.connected_components(graph, directed=False)
    return [int(np.flatnonzero(names == name)[0]) for name in names]


def slow_largest(neighbours: Tensor, labels: Tensor, candidates: Tensor) -> list[bool]:
    """Class by class, SciPy's components of the mutual graph of its candidates."""
    lists = [set(row) for row in neighbours.tolist()]
    kept = [False] * len(labels)
    for label in set(labels[candidates].tolist()):
        members = [i for i in range(len(labels)) if candidates[i] and labels[i] == label]
        graph = np.array([[i != j and j in lists[i] and i in lists[j] for j in members] for i in members])
        _, names = csgraph.connected_components(graph, directed=False)
        # Of equal counts argmax takes the first, and SciPy numbers components in the order of their lowest index.
        best = np.bincount(names).argmax()
        for member, name in zip(members, names, strict=True):
            kept[member] = name == best
    return kept


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 60), st.floats(0, 3), st.integers(0, 10**6))
def test_components_equal_scipys(nodes: int, density: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    edges = torch.tensor(random.integers(nodes, size=(2, int(density * nodes))))
    assert connected_components(nodes, *edges).tolist() == slow_roots(nodes, *edges)


@pytest.mark.parametrize("order", ["up", "down", "random"])
def test_a_long_chain_is_one_component(order: str) -> None:
    nodes = torch.arange(3000)
    if order == "down":
        nodes = nodes.flip(0)
    elif order == "random":
        nodes = torch.randperm(3000, generator=torch.Generator().manual_seed(0))
    assert connected_components(3000, nodes[:-1], nodes[1:]).tolist() == [0] * 3000


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(2, 50), st.integers(1, 8), st.integers(1, 4), st.floats(0, 1), st.integers(0, 10**6))
def test_the_largest_equal_the_slow_ones(nodes: int, k: int, classes: int, share: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    k = min(k, nodes - 1)
    others = [np.delete(np.arange(nodes), i) for i in range(nodes)]
    neighbours = torch.tensor(np.stack([random.permutation(row)[:k] for row in others]))
    labels = torch.tensor(random.integers(classes, size=nodes))
    candidates = torch.tensor(random.random(nodes) < share)
    got = largest_components(neighbours, labels, candidates)
    assert got.dtype == torch.bool
    assert got.tolist() == slow_largest(neighbours, labels, candidates)


def test_neighbourhood_must_be_mutual() -> None:
    neighbours = torch.tensor([[1, 2], [0, 3], [1, 3], [2, 1]])
    one, other = mutual_pairs(neighbours, torch.zeros(4, dtype=torch.long))
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [(0, 1), (1, 3), (2, 3)]
    one, other = mutual_pairs(neighbours, torch.tensor([0, 0, -1, -1]))
    assert (one.tolist(), other.tolist()) == ([0], [1])


def test_a_sample_of_another_label_or_of_no_candidate_does_not_connect() -> None:
    """A ring of six with neighbours to both sides: whatever leaves the ring cuts it."""
    ring = torch.tensor([[(i - 1) % 6, (i + 1) % 6] for i in range(6)])
    same = torch.zeros(6, dtype=torch.long)
    everyone = torch.ones(6, dtype=torch.bool)
    assert largest_components(ring, same, everyone).all()
    labels = torch.tensor([0, 0, 0, 1, 0, 1])
    assert largest_components(ring, labels, everyone).tolist() == [True, True, True, True, False, False]
    candidates = torch.tensor([True, True, True, False, True, False])
    assert largest_components(ring, same, candidates).tolist() == [True, True, True, False, False, False]


def test_isolated_samples_and_ties_leave_the_lowest_index() -> None:
    neighbours = torch.tensor([[1], [2], [3], [4], [5], [0]])  # nobody is mutual
    labels = torch.tensor([1, 0, 0, 1, 0, 1])
    assert largest_components(neighbours, labels, torch.ones(6, dtype=torch.bool)).tolist() == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    pairs = torch.tensor([[1], [0], [3], [2]])
    assert largest_components(pairs, torch.zeros(4, dtype=torch.long), torch.ones(4, dtype=torch.bool)).tolist() == [
        True, True, False, False,
    ]  # fmt: skip


def test_no_candidates_and_empty_classes() -> None:
    neighbours = torch.tensor([[1], [0], [0]])
    labels = torch.tensor([5, 5, -1])
    assert not largest_components(neighbours, labels, torch.zeros(3, dtype=torch.bool)).any()
    candidates = torch.tensor([True, True, False])
    assert largest_components(neighbours, labels, candidates).tolist() == [True, True, False]
