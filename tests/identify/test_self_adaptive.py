"""SED's thresholds and weights against numpy loops, by hand and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lond.identify import (
    Moments,
    Thresholds,
    class_moments,
    given_probability,
    move_moments,
    move_thresholds,
    select_adaptively,
    truncated_gaussian_weights,
)


def start(classes: int) -> Thresholds:
    even = torch.full((classes,), 1 / classes)
    return Thresholds(even[0], even)


@pytest.mark.parametrize(("samples", "classes"), [(1, 2), (7, 2), (60, 5)])
@pytest.mark.parametrize(("memory", "quantile"), [(0.0, 0.8), (0.9, 0.8), (0.999, 0.3)])
def test_thresholds_and_selection_equal_numpy(samples: int, classes: int, memory: float, quantile: float) -> None:
    rng = np.random.default_rng(samples)
    p, y = rng.dirichlet(np.ones(classes), size=samples), rng.integers(classes, size=samples)
    u = np.array([p[i, y[i]] for i in range(samples)])
    level = min(0.95, memory / classes + (1 - memory) * np.quantile(u, quantile))
    mass = memory / classes + (1 - memory) * p.mean(axis=0)
    new = move_thresholds(start(classes), torch.tensor(p).float(), torch.tensor(y), memory, quantile, 0.95)
    assert new.level.item() == pytest.approx(level, abs=1e-6)
    np.testing.assert_allclose(new.mass, mass, atol=1e-6)
    asked = level * mass / mass.max()
    np.testing.assert_allclose(new.by_class(), asked, atol=1e-6)
    clean = select_adaptively(torch.tensor(p).float(), torch.tensor(y), new)
    sure = np.abs(u - asked[y]) > 1e-6
    assert clean.numpy()[sure].tolist() == (u >= asked[y])[sure].tolist()


def test_the_level_is_limited() -> None:
    p, y = torch.tensor([[1.0, 0.0]] * 5), torch.zeros(5, dtype=torch.long)
    assert move_thresholds(start(2), p, y, 0.0, 0.8, 0.95).level.item() == pytest.approx(0.95)
    assert move_thresholds(start(2), p, y, 0.0, 0.8, 1.0).level.item() == pytest.approx(1.0)


def test_a_class_that_attracts_less_is_asked_for_less() -> None:
    thresholds = Thresholds(torch.tensor(0.8), torch.tensor([0.4, 0.1]))
    assert thresholds.by_class().tolist() == pytest.approx([0.8, 0.2])
    p, y = torch.tensor([[0.7, 0.3], [0.7, 0.3], [0.9, 0.1]]), torch.tensor([0, 1, 1])
    assert select_adaptively(p, y, thresholds).tolist() == [False, True, False]


def test_unlabelled_samples_are_never_clean_and_move_only_the_masses() -> None:
    p = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.0, 1.0]])
    y = torch.tensor([0, -2, -2])
    assert given_probability(p, y).tolist() == pytest.approx([0.9, 0, 0])
    new = move_thresholds(start(2), p, y, 0.0, 0.8, 0.95)
    assert new.level.item() == pytest.approx(0.9)
    np.testing.assert_allclose(new.mass, p.mean(dim=0), atol=1e-6)
    zero = Thresholds(torch.tensor(0.0), torch.tensor([0.5, 0.5]))
    assert select_adaptively(p, y, zero).tolist() == [True, False, False]
    assert move_thresholds(start(2), p, torch.full((3,), -2), 0.5, 0.8, 0.95).level.item() == 0.5


def test_moments_equal_numpy() -> None:
    rng = np.random.default_rng(0)
    v, c = rng.random(50), rng.integers(4, size=50)
    got = class_moments(torch.tensor(v).float(), torch.tensor(c), 4)
    for label in range(4):
        assert got.mean[label].item() == pytest.approx(v[c == label].mean(), abs=1e-6)
        assert got.variance[label].item() == pytest.approx(v[c == label].var(ddof=1), abs=1e-6)


def test_moments_of_small_classes_and_their_memory() -> None:
    v, c = torch.tensor([0.4, 0.8, 0.9]), torch.tensor([0, 0, 1])
    got = class_moments(v, c, 3)
    assert got.mean.tolist() == pytest.approx([0.6, 0, 0])
    assert got.variance.tolist() == pytest.approx([0.08, 1, 1])
    old = Moments(torch.full((3,), 1 / 3), torch.ones(3))
    new = move_moments(old, v, c, 0.75)
    assert new.mean.tolist() == pytest.approx([0.25 + 0.15, 0.25, 0.25])
    assert new.variance.tolist() == pytest.approx([0.75 + 0.02, 1, 1])


def test_weights_by_hand() -> None:
    moments = Moments(torch.tensor([0.6, 0.3]), torch.tensor([0.04, 0.01]))
    v, c = torch.tensor([0.9, 0.6, 0.4, 0.2]), torch.tensor([0, 0, 0, 1])
    got = truncated_gaussian_weights(v, c, moments, 2.0)
    # 0.2 below a mean of deviation 0.2 is one deviation, and two after sharpening; likewise 0.1 of 0.1.
    np.testing.assert_allclose(got, [1, 1, math.exp(-2), math.exp(-2)], atol=1e-3)
    assert truncated_gaussian_weights(v, c, moments, 0.0).tolist() == [1.0] * 4


def test_a_class_without_spread_gives_finite_weights() -> None:
    moments = Moments(torch.tensor([1.0]), torch.zeros(1))
    got = truncated_gaussian_weights(torch.tensor([1.0, 0.9999, 0.5]), torch.zeros(3, dtype=torch.long), moments, 2.0)
    assert got.isfinite().all()
    assert got[0] == 1
    assert got[1] > 0.9
    assert got[2] == 0
