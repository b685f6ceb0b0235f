"""Heads of all folds at once: equal to each trained by itself with another optimiser."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import lond.crossfit.heads
from lond.crossfit.heads import FEW, PENALTY, LabelTargets, _softmax, fit_one_vs_all, fit_softmax


@pytest.fixture
def data() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(60, 4, generator=generator)
    targets = torch.softmax(3 * torch.randn(60, 3, generator=generator), dim=1)
    # Some images count for less, one for nothing.
    targets = targets * torch.rand(60, 1, generator=generator)
    targets[7] = 0
    return features, targets, torch.arange(60) % 3


def slow_softmax(features: Tensor, targets: Tensor) -> Tensor:
    """Return the logits on all features of the minimum found by L-BFGS, offsets fixed at the log of the mix."""
    sums = targets.sum(dim=0)
    offsets = ((sums + 0.5) / (sums + 0.5).sum()).log().double()
    weights = torch.zeros(features.shape[1], targets.shape[1], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        said = torch.log_softmax(features.double() @ weights + offsets, dim=1)
        value = -(targets * said).sum() + PENALTY / 2 * weights.square().sum()
        value.backward()
        return value

    optimiser.step(loss)
    return weights.detach().float()


def test_every_fold_is_the_minimum_without_its_images(
    data: tuple[Tensor, Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    features, targets, folds = data
    monkeypatch.setattr(lond.crossfit.heads, "STEPS", 300)
    monkeypatch.setattr(lond.crossfit.heads, "ROWS", 7)
    heads = fit_softmax(features, targets, folds)
    assert heads.weights.shape == (4, 4, 3)
    for fold in range(3):
        seen = folds != fold
        assert torch.allclose(heads.weights[fold], slow_softmax(features[seen], targets[seen]), atol=1e-3)
    assert torch.allclose(heads.weights[-1], slow_softmax(features, targets), atol=1e-3)


def test_few_steps_come_close(data: tuple[Tensor, Tensor, Tensor]) -> None:
    features, targets, folds = data
    found, best = fit_softmax(features, targets, folds).weights[-1], slow_softmax(features, targets)
    assert (found - best).norm() < 0.1 * best.norm()


def test_there_are_as_many_steps_as_the_table_of_chances_was_fitted_to(data: tuple[Tensor, Tensor, Tensor]) -> None:
    """Twelve steps of Nesterov's method, with gradients by autograd."""
    features, targets, folds = data
    sums = targets.sum(dim=0) + 0.5
    scale = torch.linalg.inv(0.5 * features.T @ (features * targets.sum(dim=1, keepdim=True)) + 0.3 * torch.eye(4))
    now, ahead, pace = torch.zeros(4, 3), torch.zeros(4, 3), 1.0
    for _ in range(12):
        at = ahead.clone().requires_grad_()
        said = torch.log_softmax(features @ at + (sums / sums.sum()).log(), dim=1)
        (slope,) = torch.autograd.grad(-(targets * said).sum() + 0.15 * at.square().sum(), at)
        new = ahead - scale @ slope
        later = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        now, ahead, pace = new, new + (pace - 1) / later * (new - now), later
    heads = fit_softmax(features, targets, folds)
    assert torch.allclose(heads.weights[-1], now, atol=1e-5)
    assert heads.offsets[-1].exp().tolist() == pytest.approx((sums / sums.sum()).tolist())


def test_unseen_images_are_judged_by_the_heads_without_them(data: tuple[Tensor, Tensor, Tensor]) -> None:
    features, targets, folds = data
    heads = fit_softmax(features, targets, folds)
    unseen = heads.unseen(features, folds)
    row = 10
    assert torch.allclose(unseen[row], features[row] @ heads.weights[1] + heads.offsets[1], atol=1e-6)
    assert torch.allclose(heads.last(features)[row], features[row] @ heads.weights[-1] + heads.offsets[-1], atol=1e-6)
    # What an image is labelled plays no part in what is said of it.
    changed = targets.clone()
    changed[row] = torch.tensor([0.0, 0.0, 1.0])
    assert torch.allclose(fit_softmax(features, changed, folds).unseen(features, folds)[row], unseen[row], atol=1e-5)


def test_one_vs_all_is_a_weighted_ridge_regression(data: tuple[Tensor, Tensor, Tensor]) -> None:
    features, targets, folds = data
    weights = torch.linspace(0, 1, 60)
    heads = fit_one_vs_all(features, targets, weights, folds, penalty=0.5)
    for fold in (*range(3), 3):
        seen = folds != fold
        scaled = weights[seen].sqrt()[:, None]
        left = torch.cat([features[seen] * scaled, 0.5**0.5 * torch.eye(4)])
        right = torch.cat([targets[seen] * scaled, torch.zeros(4, 3)])
        assert torch.allclose(heads.weights[fold], torch.linalg.lstsq(left, right).solution, atol=1e-4)
    assert not heads.offsets.any()


def test_a_class_of_one_image_and_two_classes_are_no_special_case() -> None:
    features = torch.eye(4)
    targets = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    unseen = fit_softmax(features, targets, torch.tensor([0, 1, 0, 1])).unseen(features, torch.tensor([0, 1, 0, 1]))
    assert unseen.isfinite().all()
    assert (unseen[:, 0] >= unseen[:, 1]).all()


def test_labels_are_targets_of_one_class(data: tuple[Tensor, Tensor, Tensor]) -> None:
    features, _, folds = data
    labels, amounts = torch.arange(60) % 3, torch.linspace(0, 1, 60)
    labels[5], amounts[5] = -2, 0
    dense = torch.nn.functional.one_hot(labels.clamp_min(0), 3) * amounts[:, None]
    named = LabelTargets(labels, amounts, 3)
    both = [fit_softmax(features, targets, folds) for targets in (dense, named)]
    assert torch.allclose(both[0].weights, both[1].weights, atol=1e-5)
    assert torch.allclose(both[0].offsets, both[1].offsets, atol=1e-6)
    without = fit_softmax(features, named, folds, with_last=False)
    assert torch.allclose(without.weights, both[1].weights[:-1], atol=1e-5)
    plain = torch.nn.functional.one_hot(labels.clamp_min(0), 3) * (labels >= 0)[:, None].float()
    rows = torch.rand(60, generator=torch.Generator().manual_seed(1))
    ridges = [fit_one_vs_all(features, targets, rows, folds) for targets in (plain, named)]
    assert torch.allclose(ridges[0].weights, ridges[1].weights, atol=1e-5)


@pytest.mark.parametrize("classes", [2, FEW, FEW + 1])
def test_probabilities_are_the_same_on_either_way(classes: int) -> None:
    logits = 30 * torch.randn(7, 3, classes, generator=torch.Generator().manual_seed(0))
    found = torch.empty_like(logits)
    _softmax(logits, found)
    assert torch.allclose(found, torch.softmax(logits.double(), dim=2).float(), atol=1e-6)
