"""Eq. 6 against loops, by hand, in half precision and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from reference import losses as ref

from lond.losses.consistency import one_vs_all_consistency


def random_case(batch: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(scale=2, size=(batch, classes, 2)), rng.normal(scale=2, size=(batch, classes, 2))


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (7, 5), (3, 80), (1, 1)])
def test_equals_reference(batch: int, classes: int) -> None:
    strong, weak = random_case(batch, classes)
    got = one_vs_all_consistency(torch.tensor(strong), torch.tensor(weak))
    assert got.shape == (batch,)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, ref.consistency(strong, weak), rtol=2e-6, atol=1e-6)


def test_by_hand() -> None:
    """p1 = 3/4 against 1/2 in one of two classes: 2 * (1/4)^2; a full flip of one class costs 2."""
    weak = torch.zeros(1, 2, 2)
    strong = torch.tensor([[[0.0, math.log(3)], [0.0, 0.0]]])
    assert one_vs_all_consistency(strong, weak).item() == pytest.approx(2 / 16)
    flip = torch.tensor([[[0.0, 1e4]]])
    assert one_vs_all_consistency(flip, -flip).item() == 2


def test_zero_for_equal_views_and_symmetric() -> None:
    strong, weak = (torch.tensor(x) for x in random_case(4, 3))
    assert one_vs_all_consistency(strong, strong).abs().max() == 0
    torch.testing.assert_close(one_vs_all_consistency(strong, weak), one_vs_all_consistency(weak, strong))


def test_both_views_get_the_gradient_of_the_reference() -> None:
    strong, weak = random_case(3, 4, seed=1)
    leaves = [torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in (strong, weak)]
    one_vs_all_consistency(*leaves).sum().backward()
    by_strong = ref.numerical_gradient(lambda x: ref.consistency(x, weak).sum(), strong)
    by_weak = ref.numerical_gradient(lambda x: ref.consistency(strong, x).sum(), weak)
    np.testing.assert_allclose(leaves[0].grad, by_strong, atol=2e-6)
    np.testing.assert_allclose(leaves[1].grad, by_weak, atol=2e-6)
    assert np.abs(by_strong).max() > 1e-3
    assert np.abs(by_weak).max() > 1e-3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_extremes(dtype: torch.dtype) -> None:
    strong = torch.tensor([[[60000.0, -60000.0], [0.0, 0.0]]], dtype=dtype, requires_grad=True)
    weak = torch.tensor([[[-60000.0, 60000.0], [0.0, 0.0]]], dtype=dtype, requires_grad=True)
    loss = one_vs_all_consistency(strong, weak)
    assert loss.dtype == torch.float32
    assert loss.item() == 2
    loss.sum().backward()
    for leaf in (strong, weak):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()


def test_empty_batch() -> None:
    assert one_vs_all_consistency(torch.zeros(0, 3, 2), torch.zeros(0, 3, 2)).shape == (0,)
