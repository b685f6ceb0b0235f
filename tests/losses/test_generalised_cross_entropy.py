"""Generalised cross-entropy against a loop, at its two ends, in half precision and where p_y is 0 or 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lond.losses import generalised_cross_entropy


@pytest.mark.parametrize("exponent", [0.1, 0.7, 1.0])
@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (7, 5)])
def test_equals_the_loop(batch: int, classes: int, exponent: float) -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(scale=3, size=(batch, classes)), rng.integers(classes, size=batch)
    got = generalised_cross_entropy(torch.tensor(logits), torch.tensor(labels), exponent)
    assert got.dtype == torch.float32
    for row, label, value in zip(logits, labels, got.tolist(), strict=True):
        p = math.exp(row[label]) / math.fsum(math.exp(x) for x in row)
        assert value == pytest.approx((1 - p**exponent) / exponent, abs=1e-5)


def test_by_hand() -> None:
    even = torch.zeros(1, 4)
    assert generalised_cross_entropy(even, torch.tensor([2]), 0.5).item() == pytest.approx((1 - 0.5) / 0.5)
    assert generalised_cross_entropy(even, torch.tensor([2]), 1.0).item() == pytest.approx(0.75)


def test_a_small_exponent_is_the_cross_entropy() -> None:
    logits, labels = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 3
    nearly = generalised_cross_entropy(logits, labels, 1e-4)
    assert torch.allclose(nearly, F.cross_entropy(logits, labels, reduction="none"), rtol=1e-3)


def test_extreme_logits_and_half_precision() -> None:
    logits = torch.tensor([[200.0, -200.0], [-200.0, 200.0]], dtype=torch.bfloat16, requires_grad=True)
    losses = generalised_cross_entropy(logits, torch.tensor([0, 0]), 0.7)
    assert losses.tolist() == pytest.approx([0, 1 / 0.7])
    losses.sum().backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
