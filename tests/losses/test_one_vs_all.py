"""Eq. 2 against loops, by hand, in half precision and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from reference import losses as ref

from lond.losses.one_vs_all import negative_probabilities, one_vs_all, positive_probabilities


def random_case(batch: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(scale=3, size=(batch, classes, 2)), rng.random((batch, classes))


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (7, 5), (4, 80), (1, 1)])
def test_equals_reference(batch: int, classes: int) -> None:
    logits, targets = random_case(batch, classes)
    got = one_vs_all(torch.tensor(logits).float(), torch.tensor(targets).float())
    assert got.shape == (batch,)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, ref.one_vs_all(logits, targets), rtol=2e-6, atol=1e-6)


def test_by_hand() -> None:
    """Class 0: p1 = 3/4; class 1: p1 = 1/5. Label 0 costs -log(3/4) - log(4/5)."""
    logits = torch.tensor([[[0.0, math.log(3)], [math.log(4), 0.0]]])
    assert one_vs_all(logits, torch.tensor([[1.0, 0.0]])).item() == pytest.approx(-math.log(0.75) - math.log(0.8))
    assert one_vs_all(logits, torch.tensor([[0.0, 1.0]])).item() == pytest.approx(-math.log(0.25) - math.log(0.2))
    soft = -0.5 * math.log(0.75 * 0.25) - math.log(0.8)
    assert one_vs_all(logits, torch.tensor([[0.5, 0.0]])).item() == pytest.approx(soft)


def test_last_axis_is_negative_then_positive() -> None:
    logits = torch.tensor([[[5.0, -5.0], [-5.0, 5.0]]])
    positive, negative = positive_probabilities(logits), negative_probabilities(logits)
    assert positive[0].round().tolist() == [0, 1]
    assert negative[0].round().tolist() == [1, 0]


def test_probabilities_equal_reference_and_sum_to_one() -> None:
    logits, _ = random_case(6, 4)
    expected = ref.one_vs_all_probabilities(logits)
    positive = positive_probabilities(torch.tensor(logits))
    negative = negative_probabilities(torch.tensor(logits))
    np.testing.assert_allclose(positive, expected[..., 1], atol=1e-6)
    np.testing.assert_allclose(negative, expected[..., 0], atol=1e-6)
    np.testing.assert_allclose(positive + negative, np.ones((6, 4)), atol=1e-6)


def test_small_probabilities_keep_their_relative_precision() -> None:
    """log(p + eps) or 1 - p would lose these."""
    logits = torch.tensor([[[0.0, -60.0], [0.0, 60.0]]])
    assert positive_probabilities(logits)[0, 0].item() == pytest.approx(math.exp(-60), rel=1e-5)
    assert negative_probabilities(logits)[0, 1].item() == pytest.approx(math.exp(-60), rel=1e-5)
    assert one_vs_all(logits, torch.tensor([[1.0, 0.0]])).item() == pytest.approx(120.0)


def test_a_shift_of_both_logits_changes_nothing() -> None:
    logits, targets = (torch.tensor(x).float() for x in random_case(3, 4))
    shift = torch.randn(3, 4, 1, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(one_vs_all(logits + shift, targets), one_vs_all(logits, targets), rtol=1e-5, atol=1e-5)


def test_gradient_equals_differences_of_reference() -> None:
    logits, targets = random_case(3, 4, seed=1)
    leaf = torch.tensor(logits, dtype=torch.float32, requires_grad=True)
    one_vs_all(leaf, torch.tensor(targets)).sum().backward()
    numeric = ref.numerical_gradient(lambda x: ref.one_vs_all(x, targets).sum(), logits)
    np.testing.assert_allclose(leaf.grad, numeric, atol=2e-6)


def test_gradient_stays_with_its_sample() -> None:
    logits, targets = (torch.tensor(x).float() for x in random_case(3, 4))
    logits.requires_grad_()
    one_vs_all(logits, targets)[1].backward()
    assert logits.grad is not None
    assert logits.grad[1].abs().min() > 0
    assert logits.grad[[0, 2]].abs().max() == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_extremes(dtype: torch.dtype) -> None:
    logits = torch.tensor([[[60000.0, -60000.0], [-60000.0, 60000.0]]], dtype=dtype, requires_grad=True)
    for targets in ([[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]):
        loss = one_vs_all(logits, torch.tensor(targets, dtype=dtype))
        assert loss.dtype == torch.float32
        assert loss.isfinite().all()
    assert one_vs_all(logits, torch.tensor([[0.0, 1.0]])).item() == 0
    (gradient,) = torch.autograd.grad(one_vs_all(logits, torch.tensor([[1.0, 0.0]])).sum(), logits)
    assert gradient.dtype == dtype
    assert gradient.tolist() == [[[1, -1], [-1, 1]]]
    assert positive_probabilities(logits).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_loses_only_the_rounding_of_its_inputs(dtype: torch.dtype) -> None:
    logits, targets = (torch.tensor(x).to(dtype) for x in random_case(4, 6))
    expected = ref.one_vs_all(logits.double().numpy(), targets.double().numpy())
    np.testing.assert_allclose(one_vs_all(logits, targets), expected, rtol=2e-6)


def test_empty_batch() -> None:
    assert one_vs_all(torch.zeros(0, 3, 2), torch.zeros(0, 3)).shape == (0,)


def test_targets_get_no_gradient() -> None:
    logits = torch.ones(2, 3, 2, requires_grad=True)
    targets = torch.eye(3)[:2].requires_grad_()
    one_vs_all(logits * torch.tensor([1.0, 2.0]), targets).sum().backward()
    assert targets.grad is None
