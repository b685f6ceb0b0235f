"""Eq. 4-5 against loops, by hand, in half precision and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as ref

from lond.losses.bi_level_contrastive import MixedPairs, bi_level_contrastive, mixed_bi_level_contrastive
from lond.losses.mixup import Mix, draw_mix

TAU = 0.1
CLOSE = {"rtol": 3e-6, "atol": 3e-6}


def random_case(batch: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings of 2 * batch views, and labels and weights of the batch; a third of the weights is 0, one is 1."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2 * batch, 5))
    weights = rng.random(batch) * (rng.random(batch) > 1 / 3)
    weights[0] = 1.0
    return z / np.linalg.norm(z, axis=1, keepdims=True), rng.integers(classes, size=batch), weights


def twice(x: np.ndarray) -> torch.Tensor:
    return torch.tensor(np.concatenate([x, x]))


def loss(z: np.ndarray, labels: np.ndarray, weights: np.ndarray, tau: float = TAU) -> torch.Tensor:
    ids = np.arange(len(labels))
    return bi_level_contrastive(torch.tensor(z).float(), twice(ids), twice(labels), twice(weights), tau)


def reference(z: np.ndarray, labels: np.ndarray, weights: np.ndarray, tau: float = TAU) -> np.ndarray:
    ids = list(range(len(labels)))
    return ref.contrastive(z, ids + ids, [*labels, *labels], [*weights, *weights], tau)


@pytest.mark.parametrize(
    ("batch", "classes", "tau"), [(1, 2, 0.1), (2, 1, 0.1), (6, 2, 0.1), (9, 3, 0.5), (8, 80, 0.07)]
)
def test_equals_reference(batch: int, classes: int, tau: float) -> None:
    z, labels, weights = random_case(batch, classes)
    got = loss(z, labels, weights, tau)
    assert got.shape == (2 * batch,)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, reference(z, labels, weights, tau), **CLOSE)


def test_by_hand() -> None:
    """All four views equal: every log-ratio is -log 3, whatever the weights; two orthogonal pairs pull apart."""
    same = np.ones((4, 1))
    for weights in ([1.0, 1.0], [0.0, 0.5], [0.0, 0.0]):
        np.testing.assert_allclose(loss(same, np.array([0, 0]), np.array(weights)), [math.log(3)] * 4, rtol=1e-6)
    pairs = np.array([[1.0, 0], [0, 1.0], [1.0, 0], [0, 1.0]])
    instance = math.log1p(2 * math.exp(-1))  # -log(e / (e + 2)) at tau = 1
    np.testing.assert_allclose(loss(pairs, np.array([0, 1]), np.ones(2), 1.0), [instance] * 4, rtol=1e-6)
    # One label, weights 1 and 1/2: two more views with pair weight 1/2, each of ratio 1 / (e + 2).
    class_level = (instance + 2 * 0.5 * (instance + 1)) / (1 + 2 * 0.5)
    np.testing.assert_allclose(loss(pairs, np.array([0, 0]), np.array([1.0, 0.5]), 1.0), [class_level] * 4, rtol=1e-6)


def test_a_batch_of_one_has_nothing_to_tell_apart() -> None:
    z = torch.tensor([[0.6, 0.8], [1.0, 0.0]], requires_grad=True)
    got = bi_level_contrastive(z, torch.tensor([0, 0]), torch.tensor([1, 1]), torch.ones(2), TAU)
    assert got.abs().max() == 0
    got.sum().backward()
    assert z.grad is not None
    assert z.grad.abs().max() == 0


def test_weights_all_zero_leave_the_instance_terms() -> None:
    z, labels, weights = random_case(5, 2)
    got = loss(z, labels, np.zeros(5))
    np.testing.assert_allclose(got, loss(z, np.arange(5), weights), **CLOSE)
    assert got.isfinite().all()


def test_an_open_sample_is_neither_positive_nor_has_positives_but_is_a_negative() -> None:
    z, labels, _ = random_case(6, 1)
    weights = np.array([1, 1, 1, 1, 1, 0.0])
    apart = np.array([0, 0, 0, 0, 0, 7])
    np.testing.assert_allclose(loss(z, labels, weights), loss(z, apart, np.ones(6)), **CLOSE)
    kept = np.r_[0:5, 6:11]
    assert not np.allclose(loss(z, labels, weights)[kept], loss(z[kept], labels[:5], weights[:5]), atol=1e-3)


def test_the_other_view_counts_fully_whatever_the_weight() -> None:
    """The instance term carries no weight, and a sample's own label does not add its other view to P(i)."""
    z, labels, _ = random_case(4, 80)
    labels = np.arange(4)
    np.testing.assert_allclose(loss(z, labels, np.full(4, 0.3)), loss(z, labels, np.ones(4)), **CLOSE)


def test_gradient_equals_differences_of_reference() -> None:
    z, labels, weights = random_case(4, 2, seed=1)
    leaf = torch.tensor(z, dtype=torch.float32, requires_grad=True)
    bi_level_contrastive(leaf, twice(np.arange(4)), twice(labels), twice(weights), TAU).sum().backward()
    numeric = ref.numerical_gradient(lambda x: reference(x, labels, weights).sum(), z)
    np.testing.assert_allclose(leaf.grad, numeric, atol=5e-5)


def test_negatives_get_gradient_too() -> None:
    z, _, _ = random_case(3, 1)
    leaf = torch.tensor(z, dtype=torch.float32, requires_grad=True)
    bi_level_contrastive(leaf, twice(np.arange(3)), twice(np.arange(3)), torch.ones(6), TAU)[0].backward()
    assert leaf.grad is not None
    assert (leaf.grad.abs().sum(1) > 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_multiplied_in_float32(dtype: torch.dtype) -> None:
    z, labels, weights = random_case(6, 2)
    half = torch.tensor(z).to(dtype)
    half.requires_grad_()
    got = bi_level_contrastive(half, twice(np.arange(6)), twice(labels), twice(weights).to(dtype), TAU)
    assert got.dtype == torch.float32
    rounded = torch.tensor(weights).to(dtype).double().numpy()
    expected = reference(half.detach().double().numpy(), labels, rounded)
    np.testing.assert_allclose(got.detach(), expected, rtol=1e-5, atol=1e-5)
    got.sum().backward()
    assert half.grad is not None
    assert half.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_extreme_embeddings_stay_finite(dtype: torch.dtype) -> None:
    z = torch.tensor([[60000.0], [-60000.0], [60000.0], [-60000.0]], dtype=dtype, requires_grad=True)
    ids = torch.tensor([0, 1, 0, 1])
    for labels in ([0, 0, 0, 0], [0, 1, 0, 1]):
        got = bi_level_contrastive(z, ids, torch.tensor(labels), torch.ones(4), TAU)
        assert got.isfinite().all()


def test_float32_products_under_autocast() -> None:
    """tau = 0.1 magnifies what bfloat16 loses tenfold."""
    z, labels, weights = random_case(6, 2)
    plain = loss(z, labels, weights)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = loss(z, labels, weights)
    torch.testing.assert_close(cast, plain, atol=1e-5, rtol=1e-5)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 10**6))
def test_the_order_of_the_samples_does_not_matter(batch: int, classes: int, seed: int) -> None:
    z, labels, weights = random_case(batch, classes, seed)
    order = np.random.default_rng(seed).permutation(batch)
    views = np.concatenate([order, batch + order])
    got = loss(z[views], labels[order], weights[order])
    np.testing.assert_allclose(got, loss(z, labels, weights)[views], rtol=1e-5, atol=1e-5)


def mixed(
    z: torch.Tensor, labels: np.ndarray, weights: np.ndarray, mixes: tuple[Mix, ...], pairs: MixedPairs = "major"
) -> torch.Tensor:
    return mixed_bi_level_contrastive(z, torch.tensor(labels), torch.tensor(weights), mixes, TAU, pairs)


def plain(mixes: tuple[Mix, ...]) -> list[tuple[float, list[int]]]:
    return [(mix.ratio, mix.partners.tolist()) for mix in mixes]


@pytest.mark.parametrize("pairs", ["major", "minor"])
@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (2, 2), (6, 2), (8, 20)])
def test_mixed_equals_reference(batch: int, classes: int, pairs: MixedPairs) -> None:
    z, labels, weights = random_case(batch, classes)
    source = torch.Generator().manual_seed(batch)
    mixes = (draw_mix(batch, 1.0, source), draw_mix(batch, 1.0, source))
    got = mixed(torch.tensor(z), labels, weights, mixes, pairs)
    expected = ref.mixed_contrastive(z, labels, weights, plain(mixes), TAU, pairs=pairs)
    assert got.shape == (2 * batch,)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got, expected, **CLOSE)


def test_mixed_at_ratio_one_is_the_plain_loss() -> None:
    z, labels, weights = random_case(6, 2)
    mixes = tuple(Mix(1.0, torch.randperm(6, generator=torch.Generator().manual_seed(s))) for s in (0, 1))
    np.testing.assert_allclose(mixed(torch.tensor(z), labels, weights, mixes), loss(z, labels, weights), **CLOSE)


def test_the_minor_term_looks_for_the_views_that_show_the_partner_most() -> None:
    """Weak row 1 is mixed with sample 0, which rows 0 of both views show at the larger share."""
    z = torch.zeros(6, 6)
    z[range(6), [0, 0, 1, 2, 3, 4]] = 1.0  # weak rows 0 and 1 are the only similar views
    mixes = (Mix(0.75, torch.tensor([1, 0, 2])), Mix(0.75, torch.tensor([0, 1, 2])))
    got = mixed(z, np.arange(3), np.ones(3), mixes)
    alone, near = math.log(5), math.log1p(4 * math.exp(-10))
    far = 10 + near  # the loss of a far view, seen from weak row 0 or 1
    # The other view of its own sample is far; of the two views that show its partner one is near, one far.
    swapped = 0.75 * far + 0.25 * (near + far) / 2
    np.testing.assert_allclose(got, [swapped, swapped, alone, alone, alone, alone], rtol=1e-5)


def test_both_views_of_the_partner_and_the_weighted_class_share_the_minor_term() -> None:
    """All views equal: every log-ratio is -log 5, so the terms are means whatever the weights and the partners."""
    same, labels, weights = torch.ones(6, 1), np.array([0, 0, 1]), np.array([1.0, 0.5, 0.0])
    for partners in ([1, 2, 0], [0, 1, 2], [2, 1, 0]):
        mixes = (Mix(0.6, torch.tensor(partners)), Mix(0.9, torch.tensor([1, 0, 2])))
        np.testing.assert_allclose(mixed(same, labels, weights, mixes), [math.log(5)] * 6, rtol=1e-6)


def test_the_gradient_follows_the_released_program() -> None:
    """The authors count some positives twice; the direction stays, which it does not with minor partners alone."""
    z, labels, weights = random_case(12, 8, seed=3)
    source = torch.Generator().manual_seed(5)
    mixes = tuple(Mix(0.55, torch.randperm(12, generator=source)) for _ in range(2))
    # An embedding lies between those of the two samples that its view shows.
    z = np.concatenate([0.55 * z[:12] + 0.45 * z[:12][mix.partners] for mix in mixes])
    z /= np.linalg.norm(z, axis=1, keepdims=True)

    def released(x: np.ndarray) -> float:
        return float(ref.mixed_contrastive(x, labels, weights, plain(mixes), TAU, as_released=True).sum())

    wanted = torch.tensor(ref.numerical_gradient(released, z)).flatten()
    cosines = []
    for pairs in ("major", "minor"):
        leaf = torch.tensor(z, requires_grad=True)
        mixed(leaf, labels, weights, mixes, pairs).sum().backward()
        assert leaf.grad is not None
        cosines.append(float(torch.nn.functional.cosine_similarity(leaf.grad.flatten(), wanted, dim=0)))
    assert cosines[0] > 0.95 > 0.85 > cosines[1]


def test_mixed_gradient_equals_differences_of_reference() -> None:
    z, labels, weights = random_case(4, 2, seed=2)
    source = torch.Generator().manual_seed(0)
    mixes = (draw_mix(4, 1.0, source), draw_mix(4, 1.0, source))
    leaf = torch.tensor(z, dtype=torch.float32, requires_grad=True)
    mixed(leaf, labels, weights, mixes).sum().backward()
    numeric = ref.numerical_gradient(lambda x: ref.mixed_contrastive(x, labels, weights, plain(mixes), TAU).sum(), z)
    np.testing.assert_allclose(leaf.grad, numeric, atol=5e-5)


def test_weights_get_no_gradient() -> None:
    z, labels, _ = random_case(4, 1)
    weights = torch.full((8,), 0.5, requires_grad=True)
    leaf = torch.tensor(z, dtype=torch.float32, requires_grad=True)
    bi_level_contrastive(leaf, twice(np.arange(4)), twice(labels), weights, TAU).sum().backward()
    assert weights.grad is None
