"""Eq. 1 against loops, by hand, in half precision and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from reference import losses as ref

from lond.losses.prototype import prototype_logits, soft_cross_entropy

TAU = 0.1


def unit(rng: np.random.Generator, rows: int, size: int = 6) -> np.ndarray:
    x = rng.normal(size=(rows, size))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def random_case(batch: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return unit(rng, batch), unit(rng, classes), rng.dirichlet(np.ones(classes), size=batch)


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (7, 5), (3, 80), (2, 1)])
def test_equals_reference(batch: int, classes: int) -> None:
    z, prototypes, targets = random_case(batch, classes)
    logits = prototype_logits(torch.tensor(z), torch.tensor(prototypes), TAU)
    got = soft_cross_entropy(logits, torch.tensor(targets))
    assert logits.shape == (batch, classes)
    assert logits.dtype == got.dtype == torch.float32
    np.testing.assert_allclose(logits, z @ prototypes.T / TAU, atol=5e-6)
    np.testing.assert_allclose(got, ref.prototype_loss(z, prototypes, targets, TAU), rtol=2e-6, atol=2e-6)


def test_by_hand() -> None:
    """z = e1 between prototypes e1 and e2: logits 10 and 0."""
    logits = prototype_logits(torch.tensor([[1.0, 0.0]]), torch.eye(2), TAU)
    assert logits.tolist() == [[10.0, 0.0]]
    right = math.log1p(math.exp(-10))
    assert soft_cross_entropy(logits, torch.tensor([[1.0, 0.0]])).item() == pytest.approx(right, abs=1e-7)
    assert soft_cross_entropy(logits, torch.tensor([[0.0, 1.0]])).item() == pytest.approx(10 + right)
    assert soft_cross_entropy(torch.zeros(1, 4), torch.full((1, 4), 0.25)).item() == pytest.approx(math.log(4))


def test_gradient_reaches_embeddings_and_prototypes() -> None:
    z, prototypes, targets = random_case(3, 4, seed=1)
    leaves = [torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in (z, prototypes)]
    soft_cross_entropy(prototype_logits(*leaves, TAU), torch.tensor(targets)).sum().backward()
    by_z = ref.numerical_gradient(lambda x: ref.prototype_loss(x, prototypes, targets, TAU).sum(), z)
    by_prototype = ref.numerical_gradient(lambda x: ref.prototype_loss(z, x, targets, TAU).sum(), prototypes)
    np.testing.assert_allclose(leaves[0].grad, by_z, atol=2e-5)
    np.testing.assert_allclose(leaves[1].grad, by_prototype, atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_extremes(dtype: torch.dtype) -> None:
    logits = torch.tensor([[60000.0, -60000.0, 0.0]], dtype=dtype, requires_grad=True)
    for targets in ([[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]], [[0.2, 0.3, 0.5]]):
        loss = soft_cross_entropy(logits, torch.tensor(targets, dtype=dtype))
        assert loss.dtype == torch.float32
        assert loss.isfinite().all()
        (gradient,) = torch.autograd.grad(loss.sum(), logits)
        assert gradient.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_multiplied_in_float32(dtype: torch.dtype) -> None:
    z, prototypes, _ = (torch.tensor(x).to(dtype) for x in random_case(4, 5))
    got = prototype_logits(z, prototypes, TAU)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, z.double() @ prototypes.double().T / TAU, atol=1e-5)


def test_stays_float32_under_autocast() -> None:
    z, prototypes, _ = (torch.tensor(x).float() for x in random_case(4, 5))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = prototype_logits(z, prototypes, TAU)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got, prototype_logits(z, prototypes, TAU), atol=1e-5, rtol=0)


def test_empty_batch() -> None:
    assert soft_cross_entropy(prototype_logits(torch.zeros(0, 3), torch.eye(3), TAU), torch.zeros(0, 3)).shape == (0,)


def test_targets_get_no_gradient() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    targets = torch.eye(3)[:2].requires_grad_()
    soft_cross_entropy(logits, targets).sum().backward()
    assert targets.grad is None
