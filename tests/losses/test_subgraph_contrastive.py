"""NGC's contrast against loops, by hand and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lond.losses import instance_contrastive, subgraph_contrastive


def views(batch: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    first, second = F.normalize(torch.randn(2, batch, 4, generator=random), dim=2)
    return first, second


def slow(first: Tensor, second: Tensor, temperature: float, positives: list[list[tuple[int, int]]]) -> list[float]:
    """The mean over each sample's positives, (view, sample), of -log of their share."""
    both = (first.double().numpy(), second.double().numpy())
    losses = []
    for i, mine in enumerate(positives):
        similarity = {
            (view, j): float(both[0][i] @ both[view][j]) / temperature
            for view in (0, 1)
            for j in range(len(first))
            if (view, j) != (0, i)
        }
        total = math.log(math.fsum(math.exp(value) for value in similarity.values()))
        losses.append(math.fsum(total - similarity[pair] for pair in mine) / len(mine))
    return losses


@pytest.mark.parametrize("temperature", [0.3, 1.0])
@pytest.mark.parametrize("batch", [1, 2, 7])
def test_instance_equals_the_loop(batch: int, temperature: float) -> None:
    first, second = views(batch)
    got = instance_contrastive(first, second, temperature)
    assert got.shape == (batch,)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, slow(first, second, temperature, [[(1, i)] for i in range(batch)]), atol=1e-5)


@pytest.mark.parametrize("temperature", [0.3, 1.0])
@pytest.mark.parametrize("batch", [1, 2, 9])
def test_subgraph_equals_the_loop(batch: int, temperature: float) -> None:
    first, second = views(batch, 1)
    labels = torch.arange(batch) % 2
    kept = torch.arange(batch) % 3 != 1
    positives = []
    for i in range(batch):
        friends = [j for j in range(batch) if j != i and labels[i] == labels[j] and kept[i] and kept[j]]
        positives.append([(1, i)] + [(view, j) for view in (0, 1) for j in friends])
    got = subgraph_contrastive(first, second, labels, kept, temperature)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, slow(first, second, temperature, positives), atol=1e-5)


def test_by_hand() -> None:
    """All views alike: one of 2 B - 1 equal shares, whatever the positives."""
    same = torch.ones(4, 1)
    labels, kept = torch.zeros(4, dtype=torch.long), torch.ones(4, dtype=torch.bool)
    torch.testing.assert_close(instance_contrastive(same, same, 0.3), torch.full((4,), math.log(7)))
    torch.testing.assert_close(subgraph_contrastive(same, same, labels, kept, 1.0), torch.full((4,), math.log(7)))


def test_without_kept_samples_the_subgraph_is_the_instance() -> None:
    first, second = views(6)
    labels = torch.zeros(6, dtype=torch.long)
    nobody = torch.zeros(6, dtype=torch.bool)
    torch.testing.assert_close(
        subgraph_contrastive(first, second, labels, nobody, 0.5), instance_contrastive(first, second, 0.5)
    )


def test_gradients_are_finite_also_for_small_temperatures_and_half_precision() -> None:
    first, second = (view.half().requires_grad_() for view in views(5))
    labels, kept = torch.zeros(5, dtype=torch.long), torch.ones(5, dtype=torch.bool)
    loss = instance_contrastive(first, second, 0.01) + subgraph_contrastive(first, second, labels, kept, 0.01)
    assert loss.dtype == torch.float32
    loss.sum().backward()
    assert first.grad is not None and second.grad is not None
    assert first.grad.isfinite().all() and second.grad.isfinite().all()


def test_products_in_float32_under_autocast() -> None:
    first, second = views(6)
    plain = instance_contrastive(first, second, 0.3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = instance_contrastive(first, second, 0.3)
    torch.testing.assert_close(cast, plain)
