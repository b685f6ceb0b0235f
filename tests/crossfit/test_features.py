"""Features in a common shape: against a slow reference, and where directions are left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from lond.crossfit.features import learn_preparation, signed_root


def test_few_directions_are_all_kept() -> None:
    features = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))
    prepared = learn_preparation(features)(features)
    rooted = np.sign(features.numpy()) * np.sqrt(np.abs(features.numpy()))
    centred = rooted - rooted.mean(axis=0)
    assert prepared.numpy() == pytest.approx(centred / np.linalg.norm(centred, axis=1, keepdims=True), abs=1e-5)


def test_the_directions_of_most_variance_stay() -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(200, 6, generator=generator) * torch.tensor([9.0, 9.0, 9.0, 0.01, 0.01, 0.01])
    preparation = learn_preparation(features, directions=3)
    whole = learn_preparation(features)(features)
    assert preparation(features).shape == (200, 3)
    assert preparation(features).square().sum() > 0.99 * whole.square().sum()
    # New images are measured by the mean and the directions of the old ones.
    assert torch.allclose(preparation(features[:4]), preparation(features)[:4], atol=1e-6)


def test_far_fewer_images_than_dimensions_are_no_problem() -> None:
    features = torch.relu(torch.randn(20, 1280, generator=torch.Generator().manual_seed(0)))
    prepared = learn_preparation(features)(features)
    assert prepared.shape == (20, 256)
    # 20 centred images span 19 dimensions, so nothing is lost.
    assert prepared.square().sum(dim=1).tolist() == pytest.approx([1] * 20, abs=1e-4)


def test_features_without_any_difference_stay_finite() -> None:
    features = torch.ones(4, 3)
    assert torch.equal(learn_preparation(features)(features), torch.zeros(4, 3))


def test_roots_keep_the_sign() -> None:
    assert signed_root(torch.tensor([[-4.0, 0.0, 9.0]])).tolist() == [[-2.0, 0.0, 3.0]]


def test_directions_of_several_blocks_are_those_of_a_slow_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lond.crossfit.features.BLOCK", 7)
    monkeypatch.setattr("lond.crossfit.features.ROWS", 32)
    random = torch.Generator().manual_seed(0)
    features = torch.randn(90, 20, generator=random) * torch.linspace(1, 4, 20)
    rooted = np.sign(features.double().numpy()) * np.sqrt(np.abs(features.double().numpy()))
    centred = rooted - rooted.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, -6:]
    prepared = learn_preparation(features, directions=6)(features).numpy()
    assert np.abs(prepared) == pytest.approx(np.abs(centred @ axes), abs=1e-5)


@pytest.mark.parametrize("fault", ["error", "not a number"])
def test_a_solver_that_fails_in_single_precision_is_asked_again(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    features = torch.randn(40, 9, generator=torch.Generator().manual_seed(0))
    wanted = learn_preparation(features, directions=4)(features)
    solve = torch.linalg.eigh

    def failing(values: torch.Tensor) -> Any:
        if values.dtype == torch.float64:
            return solve(values)
        if fault == "error":
            raise torch.linalg.LinAlgError("did not converge")
        return SimpleNamespace(eigenvectors=torch.full_like(values, torch.nan))

    monkeypatch.setattr(torch.linalg, "eigh", failing)
    found = learn_preparation(features, directions=4)(features)
    assert torch.allclose(found.abs(), wanted.abs(), atol=1e-5)
