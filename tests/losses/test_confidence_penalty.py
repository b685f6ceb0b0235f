"""The confidence penalty and the prior penalty by hand, their extremes and their gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lond.losses import negative_entropy, prior_penalty


@pytest.mark.parametrize("classes", [2, 5, 80])
def test_negative_entropy_equals_the_loop(classes: int) -> None:
    logits = np.random.default_rng(0).normal(scale=3, size=(6, classes))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    got = negative_entropy(torch.tensor(logits))
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, (p * np.log(p)).sum(axis=1), atol=1e-5)


def test_negative_entropy_lies_between_minus_log_c_and_zero() -> None:
    values = negative_entropy(torch.tensor([[3.0, 3.0, 3.0, 3.0], [900.0, 0.0, 0.0, 0.0]]))
    assert values.tolist() == pytest.approx([-math.log(4), 0], abs=1e-6)


def test_clamped_logits_are_those_of_a_relu() -> None:
    logits = torch.tensor([[2.0, -3.0, -1.0], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])
    clamped = negative_entropy(logits, clamp_logits=True)
    np.testing.assert_allclose(clamped, negative_entropy(logits.relu()), atol=1e-6)
    assert clamped[1] == negative_entropy(logits)[1]
    # With no positive logit the released penalty takes the prediction for uniform.
    assert clamped[2].item() == pytest.approx(-math.log(3))


def test_descending_the_penalty_makes_predictions_less_sure() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0]], requires_grad=True)
    negative_entropy(logits).sum().backward()
    assert logits.grad is not None
    assert negative_entropy(logits.detach() - logits.grad) < negative_entropy(logits.detach())


def test_prior_penalty_by_hand() -> None:
    p = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    expected = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    got = prior_penalty(p)
    assert got.shape == (1,)
    assert got.item() == pytest.approx(expected, abs=1e-6)


def test_prior_penalty_is_zero_for_a_balanced_batch_and_finite_for_a_collapsed_one() -> None:
    assert prior_penalty(torch.eye(5)).item() == pytest.approx(0, abs=1e-6)
    collapsed = torch.eye(5)[[0, 0, 0]].requires_grad_()
    value = prior_penalty(collapsed)
    assert 10 < value.item() < math.inf
    value.sum().backward()
    assert collapsed.grad is not None and collapsed.grad.isfinite().all()


def test_prior_penalty_is_a_divergence() -> None:
    p = torch.tensor(np.random.default_rng(0).dirichlet(np.ones(6), size=(50, 8)))
    assert all(prior_penalty(batch).item() >= 0 for batch in p)
