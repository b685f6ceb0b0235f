"""Negative learning against a loop in double precision, at p = 1, with empty complements, and its gradient."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lond.losses import log_complements, negative_learning


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (7, 5), (4, 100)])
def test_equals_the_loop(batch: int, classes: int) -> None:
    rng = np.random.default_rng(0)
    logits, mask = rng.normal(scale=4, size=(batch, classes)), rng.random((batch, classes)) < 0.6
    got = negative_learning(torch.tensor(logits), torch.tensor(mask))
    assert got.dtype == torch.float32
    for row, chosen, value in zip(logits, mask, got.tolist(), strict=True):
        powers = [math.exp(x) for x in row]
        terms = [
            math.log(math.fsum(powers[:c] + powers[c + 1 :]) / math.fsum(powers)) for c in range(classes) if chosen[c]
        ]
        assert value == pytest.approx(-math.fsum(terms), rel=1e-4, abs=1e-5)


def test_by_hand() -> None:
    logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
    assert log_complements(logits).exp().tolist() == [pytest.approx([0.5, 0.75, 0.75])]
    complement = torch.tensor([[False, True, True]])
    assert negative_learning(logits, complement).item() == pytest.approx(-2 * math.log(0.75))


def test_a_sure_prediction_keeps_its_digits() -> None:
    # 1 - p is about exp(-60), which no subtraction from 1 can hold.
    logits = torch.tensor([[60.0, 0.0]], requires_grad=True)
    loss = negative_learning(logits, torch.tensor([[True, False]]))
    assert loss.item() == pytest.approx(60)
    loss.backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [pytest.approx([1, -1])]


def test_an_empty_complement_costs_nothing() -> None:
    logits = torch.randn(3, 4, requires_grad=True)
    losses = negative_learning(logits, torch.zeros(3, 4, dtype=torch.bool))
    assert losses.tolist() == [0, 0, 0]
    losses.sum().backward()
    assert logits.grad is not None and not logits.grad.any()


def test_the_gradient_is_right() -> None:
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 4, generator=random, requires_grad=True)
    complement = torch.rand(3, 4, generator=random) < 0.5
    negative_learning(logits, complement).sum().backward()
    # The plain formula in double precision.
    twin = logits.detach().double().requires_grad_()
    (-(1 - twin.softmax(dim=1)).log() * complement).sum().backward()
    assert logits.grad is not None and twin.grad is not None
    assert torch.allclose(logits.grad.double(), twin.grad, atol=1e-6)


def test_half_precision_in_single_precision_out() -> None:
    logits = torch.tensor([[300.0, -300.0, 0.0]], dtype=torch.bfloat16)
    assert negative_learning(logits, torch.ones(1, 3, dtype=torch.bool)).item() == pytest.approx(300)
