"""Jensen-Shannon divergence: against scipy, its bounds, its closed form for one-hot labels, and what Jo-SRC sees."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from lond.losses import jensen_shannon, jensen_shannon_to_label


@pytest.mark.parametrize("classes", [2, 5, 80])
@pytest.mark.parametrize("base", [2.0, math.e])
def test_it_equals_scipys(classes: int, base: float) -> None:
    p, q = np.random.default_rng(0).dirichlet(np.full(classes, 0.3), size=(2, 6))
    got = jensen_shannon(torch.tensor(p), torch.tensor(q), base)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, jensenshannon(p, q, base=base, axis=1) ** 2, atol=1e-5)


def test_bounds() -> None:
    p = torch.tensor([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    assert jensen_shannon(p, p).tolist() == pytest.approx([0, 0], abs=1e-6)
    assert jensen_shannon(p[:1], torch.tensor([[0.0, 0.5, 0.5]])).item() == pytest.approx(1)
    assert jensen_shannon(p[:1], torch.tensor([[0.0, 1.0, 0.0]]), base=math.e).item() == pytest.approx(math.log(2))
    assert torch.equal(jensen_shannon(p, p.flip(0)), jensen_shannon(p.flip(0), p))


def test_shapes_are_broadcast() -> None:
    p, q = torch.rand(4, 1, 3).softmax(dim=-1), torch.rand(5, 3).softmax(dim=-1)
    got = jensen_shannon(p, q)
    assert got.shape == (4, 5)
    assert got[2, 3].item() == pytest.approx(jensen_shannon(p[2, 0], q[3]).item(), abs=1e-6)


def test_other_classes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"as many classes, not \(4, 3\) and \(4, 1\)"):
        jensen_shannon(torch.full((4, 3), 1 / 3), torch.ones(4, 1))


def test_gradients_are_finite_where_a_probability_is_zero() -> None:
    logits = torch.tensor([[200.0, 0.0, -200.0]], requires_grad=True)
    jensen_shannon(logits.softmax(dim=1), torch.tensor([[0.0, 1.0, 0.0]])).sum().backward()
    assert logits.grad is not None and logits.grad.isfinite().all()


@pytest.mark.parametrize("base", [2.0, math.e])
def test_the_distance_to_a_label_needs_its_probability_alone(base: float) -> None:
    p = torch.tensor(np.random.default_rng(1).dirichlet(np.ones(6), size=9)).float()
    one_hot = torch.eye(6)[torch.full((9,), 2)]
    np.testing.assert_allclose(jensen_shannon_to_label(p[:, 2], base), jensen_shannon(p, one_hot, base), atol=1e-6)
    edges = jensen_shannon_to_label(torch.tensor([0.0, 1.0]), base)
    assert edges.tolist() == pytest.approx([math.log(2) / math.log(base), 0], abs=1e-7)
    # Near 1 it must not lose its digits, nor fall below zero.
    assert (jensen_shannon_to_label(1 - torch.logspace(-7, -3, 20)) >= 0).all()


@pytest.mark.parametrize("classes", [80, 100])
@pytest.mark.parametrize(
    ("prediction", "smoothing", "agreement"),
    [
        ("label", 0.6, 0.604),
        ("uniform", 0.6, 0.800),
        ("other", 0.6, 0.032),
        ("label", 0.0, 1.000),
        ("uniform", 0.0, 0.049),
        ("other", 0.0, 0.000),
    ],
)
def test_agreement_with_smoothed_labels(classes: int, prediction: str, smoothing: float, agreement: float) -> None:
    """1 - divergence, the likelihood of being clean, of typical predictions."""
    label = torch.full((classes,), smoothing / (classes - 1))
    label[0] = 1 - smoothing
    p = torch.full((classes,), 1 / classes)
    if prediction != "uniform":
        p = torch.eye(classes)[0 if prediction == "label" else 1]
    # The values were computed for 80 classes; with 100 they are about the same.
    assert 1 - jensen_shannon(p, label).item() == pytest.approx(agreement, abs=6e-4 if classes == 80 else 0.02)


def test_the_unit_is_bits_unless_told_otherwise() -> None:
    """A label that is held impossible is one bit away."""
    impossible = torch.tensor([0.0])
    assert jensen_shannon_to_label(impossible).item() == pytest.approx(1.0)
    assert jensen_shannon(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])).item() == pytest.approx(1.0)
