"""Two Gaussians on the losses: against scikit-learn, by hand, and at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.mixture import GaussianMixture

from lond.identify import fit_two_gaussians, scale_to_unit, small_loss_posterior


def two_humps(small: int, large: int, seed: int = 0, gap: float = 0.5) -> torch.Tensor:
    random = np.random.default_rng(seed)
    values = np.concatenate([random.normal(0.2, 0.07, small), random.normal(0.2 + gap, 0.12, large)])
    return torch.tensor(random.permutation(values))


def check(values: torch.Tensor, oracle: GaussianMixture, **rounds: Any) -> None:
    oracle.fit(values[:, None].numpy())
    mixture = fit_two_gaussians(values, **rounds)
    order, ours = oracle.means_[:, 0].argsort(), mixture.means.argsort()
    assert np.allclose(mixture.means[ours], oracle.means_[order, 0], atol=1e-6)
    assert np.allclose(mixture.variances[ours], oracle.covariances_[order, 0, 0], atol=1e-6)
    assert np.allclose(mixture.weights[ours], oracle.weights_[order], atol=1e-6)
    expected = oracle.predict_proba(values[:, None].numpy())[:, order[0]]
    assert np.allclose(small_loss_posterior(values, **rounds), expected, atol=1e-5)


@pytest.mark.parametrize(("small", "large", "gap"), [(300, 300, 0.5), (900, 100, 0.4), (5, 4, 0.6)])
def test_equals_scikit_learn_from_its_own_start(small: int, large: int, gap: float) -> None:
    values = two_humps(small, large, gap=gap)
    check(values, GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("small", "large", "gap"), [(80, 500, 0.3), (200, 300, 0.1), (500, 20, 0.2)])
@pytest.mark.parametrize(("iterations", "tolerance", "floor"), [(10, 1e-2, 5e-4), (3, 0.0, 1e-3), (60, 1e-6, 5e-4)])
def test_equals_scikit_learn_from_one_start(
    small: int, large: int, gap: float, iterations: int, tolerance: float, floor: float
) -> None:
    values = two_humps(small, large, gap=gap)
    start = fit_two_gaussians(values, max_iterations=0, variance_floor=floor)
    oracle = GaussianMixture(
        2,
        max_iter=iterations,
        tol=tolerance,
        reg_covar=floor,
        random_state=0,
        means_init=start.means[:, None].numpy(),
        weights_init=start.weights.numpy(),
        precisions_init=1 / start.variances[:, None, None].numpy(),
    )
    check(values, oracle, max_iterations=iterations, tolerance=tolerance, variance_floor=floor)


def test_two_points_by_hand() -> None:
    mixture = fit_two_gaussians(torch.tensor([0.0, 1.0]))
    assert torch.allclose(mixture.means, torch.tensor([0.0, 1.0], dtype=torch.float64), atol=1e-9)
    assert torch.allclose(mixture.variances, torch.full((2,), 5e-4, dtype=torch.float64), atol=1e-9)
    assert torch.allclose(mixture.weights, torch.full((2,), 0.5, dtype=torch.float64))
    assert torch.allclose(small_loss_posterior(torch.tensor([1.0, 0.0])), torch.tensor([0.0, 1.0]))


def test_it_starts_from_the_best_two_clusters() -> None:
    values = torch.tensor([0.0, 0.1, 0.2, 5.0, 5.1, 9.0])
    start = fit_two_gaussians(values, max_iterations=0)
    cuts = [(values[:n], values[n:]) for n in range(1, 6)]
    best = min(cuts, key=lambda cut: sum(float((part - part.mean()).square().sum()) for part in cut))
    assert torch.allclose(start.means, torch.stack([part.double().mean() for part in best]))
    assert torch.allclose(start.weights, torch.tensor([len(part) / 6 for part in best], dtype=torch.float64))


@pytest.mark.parametrize("losses", [[], [3.0], [2.0, 2.0], [0.5] * 7])
def test_without_two_different_losses_all_are_clean(losses: list[float]) -> None:
    assert torch.equal(small_loss_posterior(torch.tensor(losses)), torch.ones(len(losses)))
    with pytest.raises(ValueError, match="two different"):
        fit_two_gaussians(torch.tensor(losses))


@pytest.mark.parametrize("losses", [[0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0], [0.3, 0.3, 0.3000001]])
def test_few_and_equal_losses(losses: list[float]) -> None:
    posterior = small_loss_posterior(torch.tensor(losses))
    assert posterior.isfinite().all()
    if losses[-1] == 1:
        assert torch.allclose(posterior, 1 - torch.tensor(losses))


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=40))
@settings(max_examples=60, deadline=None)
def test_a_posterior_is_a_probability_and_repeats(losses: list[float]) -> None:
    values = torch.tensor(losses)
    posterior = small_loss_posterior(values)
    assert posterior.dtype == torch.float32
    assert ((posterior >= 0) & (posterior <= 1)).all()
    assert torch.equal(posterior, small_loss_posterior(values))


def test_the_order_of_samples_does_not_matter() -> None:
    values = two_humps(60, 40)
    order = torch.randperm(100, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(small_loss_posterior(values)[order], small_loss_posterior(values[order]), atol=1e-6)


def test_scaling() -> None:
    assert scale_to_unit(torch.tensor([3.0, 1.0, 2.0])).tolist() == [1.0, 0.0, 0.5]
    assert scale_to_unit(torch.tensor([4.0, 4.0])).tolist() == [0.0, 0.0]
    assert scale_to_unit(torch.empty(0)).tolist() == []


def test_rounds_and_floor_are_the_published_ones_by_default() -> None:
    """Losses crowded at 0, for which each of the three matters."""
    values = torch.rand(200, generator=torch.Generator().manual_seed(7)) ** 6
    published = {"max_iterations": 10, "tolerance": 1e-2, "variance_floor": 5e-4}
    usual = small_loss_posterior(values)
    assert torch.equal(usual, small_loss_posterior(values, **published))
    for change in ({"max_iterations": 11}, {"tolerance": 2e-2}, {"variance_floor": 1e-3}):
        assert not torch.allclose(usual, small_loss_posterior(values, **(published | change)), atol=1e-3)
