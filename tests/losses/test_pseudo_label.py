"""Eq. 13 against loops, by hand, in half precision and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as ref

from lond.losses.pseudo_label import pseudo_label_distance, refined_targets, sharpen, voted_targets


def random_case(batch: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(scale=3, size=(batch, classes)), rng.dirichlet(np.ones(classes), size=batch), rng.random(batch)


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (7, 5), (3, 80)])
def test_sharpen_equals_reference(batch: int, classes: int) -> None:
    _, p, w = random_case(batch, classes)
    got = sharpen(torch.tensor(p), torch.tensor(w / 0.5))
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, ref.sharpen(p, w / 0.5), atol=1e-6)
    np.testing.assert_allclose(sharpen(torch.tensor(p), 2.0), ref.sharpen(p, [2.0] * batch), atol=1e-6)


def test_sharpen_by_hand() -> None:
    p = torch.tensor([[0.5, 0.25, 0.25], [0.8, 0.2, 0.0]])
    np.testing.assert_allclose(sharpen(p, 2.0), [[4 / 6, 1 / 6, 1 / 6], [16 / 17, 1 / 17, 0]], atol=1e-6)
    np.testing.assert_allclose(sharpen(p[:1], 1.0), p[:1], atol=1e-6)
    np.testing.assert_allclose(sharpen(p, torch.tensor([0.0, 2.0]))[0], [1 / 3] * 3, atol=1e-6)


def test_sharpen_takes_unnormalised_input_and_a_row_of_zeros() -> None:
    np.testing.assert_allclose(sharpen(torch.tensor([[1.0, 3.0]]), 1.0), [[0.25, 0.75]], atol=1e-6)
    assert sharpen(torch.zeros(2, 4), torch.tensor([0.0, 2.0])).tolist() == [[0.25] * 4] * 2


def test_exponent_zero_is_uniform_even_for_a_one_hot_row() -> None:
    assert sharpen(torch.tensor([[1.0, 0.0]]), torch.tensor([0.0])).tolist() == [[0.5, 0.5]]


def test_a_zero_stays_zero_at_a_small_exponent() -> None:
    """Eq. 12 gives weights down to 0.01 / 1.99, so exponents w / T down to 0.01."""
    p = np.array([[1.0, 0.0], [0.6, 0.4]])
    got = sharpen(torch.tensor(p), torch.tensor([0.02, 0.02]))
    np.testing.assert_allclose(got, ref.sharpen(p, [0.02, 0.02]), atol=1e-6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(1e-6, 1), min_size=2, max_size=8), st.floats(0, 4))
def test_sharpen_gives_a_distribution_in_the_same_order(p: list[float], exponent: float) -> None:
    row = torch.tensor([p])
    got = sharpen(row, exponent)
    assert got.sum().item() == pytest.approx(1, abs=1e-5)
    assert (got >= 0).all()
    assert (got[0, row[0].argsort()].diff() >= -1e-6).all()
    if exponent >= 1:
        assert got.max() >= (row / row.sum()).max() - 1e-5


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (7, 5), (3, 80)])
def test_distance_equals_reference(batch: int, classes: int) -> None:
    logits, targets, _ = random_case(batch, classes)
    got = pseudo_label_distance(torch.tensor(logits), torch.tensor(targets))
    assert got.shape == (batch,)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, ref.pseudo_label_loss(logits, targets), atol=1e-6)


def test_distance_by_hand() -> None:
    """A sum over classes, not a mean: uniform against one-hot of 4 is (3/4)^2 + 3/16."""
    assert pseudo_label_distance(torch.zeros(1, 4), torch.eye(4)[:1]).item() == pytest.approx(0.75)
    assert pseudo_label_distance(torch.tensor([[1e4, 0.0]]), torch.tensor([[0.0, 1.0]])).item() == pytest.approx(2.0)
    assert pseudo_label_distance(torch.tensor([[1e4, 0.0]]), torch.tensor([[1.0, 0.0]])).item() == 0


def test_gradient_equals_differences_of_reference() -> None:
    logits, targets, _ = random_case(3, 4, seed=1)
    leaf = torch.tensor(logits, dtype=torch.float32, requires_grad=True)
    pseudo_label_distance(leaf, torch.tensor(targets)).sum().backward()
    numeric = ref.numerical_gradient(lambda x: ref.pseudo_label_loss(x, targets).sum(), logits)
    np.testing.assert_allclose(leaf.grad, numeric, atol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype) -> None:
    logits = torch.tensor([[60000.0, -60000.0, 0.0]], dtype=dtype, requires_grad=True)
    loss = pseudo_label_distance(logits, torch.tensor([[0.0, 1.0, 0.0]], dtype=dtype))
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(2.0)
    loss.sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    p = torch.tensor([[1.0, 0.0, 6e-5]], dtype=dtype)
    assert sharpen(p, 2.0).isfinite().all()
    assert sharpen(p, torch.tensor([2.0], dtype=dtype)).isfinite().all()


def test_targets_get_no_gradient() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    targets = torch.eye(3)[:2].requires_grad_()
    pseudo_label_distance(logits, targets).sum().backward()
    assert targets.grad is None


@pytest.mark.parametrize("rows", [1, 3])
def test_two_exponents_need_two_rows(rows: int) -> None:
    with pytest.raises(ValueError, match="one row a sample"):
        sharpen(torch.full((rows, 2), 0.5), torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize("views", [1, 2])
def test_targets_equal_loops(views: int) -> None:
    rng = np.random.default_rng(views)
    yes, near, weights = rng.random((views, 4, 3)), rng.dirichlet(np.ones(3), size=(views, 4)), rng.random(4)
    labels = np.eye(3)[[0, 2, 1, 1]]
    arguments = torch.tensor(yes), torch.tensor(near)
    refined = refined_targets(torch.tensor(labels), *arguments, 0.5)
    voted = voted_targets(*arguments, torch.tensor(weights), 0.5)
    for row in range(4):
        trust = np.mean([max(view[row]) for view in yes])
        blend = [trust * labels[row][c] + (1 - trust) * np.mean([view[row][c] for view in near]) for c in range(3)]
        np.testing.assert_allclose(refined[row], [b**2 / sum(x**2 for x in blend) for b in blend], atol=1e-6)
        scaled = [[view[row][c] / sum(view[row]) for c in range(3)] for view in yes]
        mean = [np.mean([part[c] for part in scaled] + [view[row][c] for view in near]) for c in range(3)]
        power = weights[row] / 0.5
        np.testing.assert_allclose(voted[row], [m**power / sum(x**power for x in mean) for m in mean], atol=1e-6)


def test_targets_refuse_rows_that_do_not_fit() -> None:
    three, two = torch.full((1, 3, 2), 0.5), torch.full((1, 2, 2), 0.5)
    with pytest.raises(ValueError, match="one row a sample"):
        refined_targets(torch.eye(2), three, three, 0.5)
    with pytest.raises(ValueError, match="one row a sample"):
        voted_targets(three, two, torch.ones(3), 0.5)
