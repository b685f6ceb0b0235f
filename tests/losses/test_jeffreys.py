"""Jeffreys divergence against a loop, its symmetry, its bound and its gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lond.losses import jeffreys_divergence


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (5, 7), (3, 80)])
@pytest.mark.parametrize("base", [2.0, math.e])
def test_it_equals_both_relative_entropies(batch: int, classes: int, base: float) -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(classes), size=(2, batch))
    expected = (p * np.log(p / q) + q * np.log(q / p)).sum(axis=1) / math.log(base)
    got = jeffreys_divergence(torch.tensor(p).log(), torch.tensor(q).log() + 3, base)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_it_is_zero_for_equals_and_the_same_both_ways() -> None:
    a, b = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0))
    assert jeffreys_divergence(a, a).tolist() == [0.0] * 4
    assert torch.equal(jeffreys_divergence(a, b), jeffreys_divergence(b, a))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_opposite_certainties_are_far_but_finite_and_push_no_further(dtype: torch.dtype) -> None:
    first = torch.tensor([[500.0, 0.0]], dtype=dtype, requires_grad=True)
    value = jeffreys_divergence(first, torch.tensor([[0.0, 500.0]], dtype=dtype))
    assert value.item() == pytest.approx(2 * math.log2(1e7), rel=1e-4)
    value.sum().backward()
    assert first.grad is not None and first.grad.abs().max() < 1e-5
