"""Label propagation against dense algebra and SciPy's conjugate gradients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.identify import Neighbours, conjugate_gradients, nearest_neighbours, neighbour_graph, propagate_labels


def points(count: int, size: int = 5, seed: int = 0) -> Tensor:
    return F.normalize(torch.randn(count, size, generator=torch.Generator().manual_seed(seed)), dim=1)


def dense_graph(near: Neighbours, power: float = 3.0) -> np.ndarray:
    """S by loops."""
    count = len(near.indices)
    weights = np.zeros((count, count))
    for i in range(count):
        for j, similarity in zip(near.indices[i].tolist(), near.similarities[i].tolist(), strict=True):
            if i != j:
                weights[i, j] = max(0.0, similarity) ** power
    weights = weights + weights.T
    degrees = weights.sum(axis=1)
    degrees[degrees == 0] = 1
    return weights / np.sqrt(degrees[:, None] * degrees[None, :])


def reference(near: Neighbours, start: Tensor, strength: float) -> np.ndarray:
    right = start.double().numpy()
    sums = right.sum(axis=0)
    right = right / np.where(sums > 0, sums, 1)
    matrix = torch.eye(len(right), dtype=torch.float64) - strength * torch.tensor(dense_graph(near))
    solution = torch.linalg.solve(matrix, torch.tensor(right)).clamp_min(0).numpy()
    rows = solution.sum(axis=1, keepdims=True)
    return solution / np.where(rows > 0, rows, 1)


@pytest.mark.parametrize(("count", "k", "power"), [(40, 6, 3.0), (40, 39, 1.0), (12, 99, 3.0), (2, 1, 3.0)])
def test_products_equal_the_dense_graph(count: int, k: int, power: float) -> None:
    near = nearest_neighbours(points(count), k, include_self=False)
    columns = torch.rand(count, 4, generator=torch.Generator().manual_seed(1))
    got = neighbour_graph(near, power).product(columns)
    np.testing.assert_allclose(got, dense_graph(near, power) @ columns.numpy(), rtol=1e-5, atol=1e-6)


def test_a_sample_is_not_joined_to_itself() -> None:
    bank = points(20)
    with_self, without = (nearest_neighbours(bank, 5 + own, include_self=bool(own)) for own in (1, 0))
    columns = torch.rand(20, 3, generator=torch.Generator().manual_seed(1))
    products = [neighbour_graph(near).product(columns) for near in (with_self, without)]
    torch.testing.assert_close(*products)


def test_negative_similarities_are_no_edges_and_lone_samples_keep_their_label() -> None:
    bank = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    near = nearest_neighbours(bank, 2, include_self=False)
    start = torch.eye(3)
    graph = neighbour_graph(near)
    assert graph.product(start)[2].abs().max() == 0
    assert propagate_labels(graph, start)[2].tolist() == [0, 0, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("count", "classes", "k", "strength"), [(60, 5, 7, 0.5), (30, 2, 29, 0.9), (25, 4, 3, 0.0)])
def test_propagation_equals_a_dense_solution(
    count: int, classes: int, k: int, strength: float, dtype: torch.dtype
) -> None:
    near = nearest_neighbours(points(count).to(dtype), k, include_self=False)
    start = torch.rand(count, classes, generator=torch.Generator().manual_seed(2)).to(dtype)
    got = propagate_labels(neighbour_graph(near), start, strength)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, reference(near, start, strength), atol=2e-5)
    np.testing.assert_allclose(got.sum(dim=1), np.ones(count), atol=1e-5)


def test_an_empty_class_stays_empty_and_unreached_rows_stay_zero() -> None:
    bank = torch.tensor([[1.0, 0.0], [0.9, 0.1], [-1.0, 0.0], [-0.9, -0.1]])
    near = nearest_neighbours(bank, 1, include_self=False)
    start = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 0], [0, 0, 0]])
    got = propagate_labels(neighbour_graph(near), start)
    assert got.isfinite().all()
    assert got[:, 2].abs().max() == 0
    assert got[2:].abs().max() == 0
    # Two nodes and one edge: (I - S / 2)^-1 is [[4, 2], [2, 4]] / 3.
    torch.testing.assert_close(got[:2, :2], torch.tensor([[2 / 3, 1 / 3], [1 / 3, 2 / 3]]))


def test_classes_have_the_same_total_weight() -> None:
    """A class of one sample pulls as hard as one of nine."""
    bank = torch.ones(12, 1)
    near = nearest_neighbours(bank, 11, include_self=False)
    start = torch.zeros(12, 2)
    start[:9, 0] = 1
    start[9, 1] = 1
    got = propagate_labels(neighbour_graph(near), start)
    torch.testing.assert_close(got[10:], torch.full((2, 2), 0.5), atol=1e-4, rtol=0)


@pytest.mark.parametrize("iterations", [1, 3, 20])
def test_conjugate_gradients_equal_scipys_column_by_column(iterations: int) -> None:
    random = np.random.default_rng(0)
    half = random.normal(size=(30, 30))
    matrix = half @ half.T / 30 + np.eye(30)
    right = random.normal(size=(30, 4)) * [1, 1e-3, 50, 0]
    got = conjugate_gradients(lambda x: torch.tensor(matrix) @ x, torch.tensor(right), 1e-6, iterations)
    for column in range(4):
        expected, _ = scipy.sparse.linalg.cg(
            scipy.sparse.csr_matrix(matrix), right[:, column], rtol=1e-6, maxiter=iterations
        )
        np.testing.assert_allclose(got[:, column], expected, rtol=1e-8, atol=1e-12)


def test_a_solved_column_rests() -> None:
    """The first column is an eigenvector and solved at once; the second goes on."""
    matrix = torch.diag(torch.tensor([1.0, 2, 3, 4], dtype=torch.float64))
    right = torch.tensor([[1.0, 1], [0, 1], [0, 1], [0, 1]], dtype=torch.float64)
    calls = []

    def product(x: Tensor) -> Tensor:
        calls.append(1)
        return matrix @ x

    got = conjugate_gradients(product, right)
    torch.testing.assert_close(got, torch.linalg.solve(matrix, right))
    assert 4 <= len(calls) <= 5
    assert conjugate_gradients(product, torch.zeros(4, 2)).abs().max() == 0
