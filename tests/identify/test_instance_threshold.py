"""DISC's selection by hand, against a loop, with unlabelled samples and at its strict inequalities."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lond.identify import follow_confidence, select_by_threshold


def test_every_kind_by_hand() -> None:
    weak = torch.tensor([[0.8, 0.2], [0.8, 0.2], [0.1, 0.9], [0.05, 0.95], [0.4, 0.6]])
    strong = torch.tensor([[0.7, 0.3], [0.4, 0.6], [0.7, 0.3], [0.05, 0.95], [0.4, 0.6]])
    labels = torch.tensor([0, 0, 0, 0, 0])
    thresholds = torch.tensor([[0.5, 0.6], [0.5, 0.6], [0.5, 0.6], [0.3, 0.5], [0.5, 0.6]])
    got = select_by_threshold(weak, strong, labels, thresholds, margin=0.5, cap=0.99)
    assert got.clean.tolist() == [True, False, False, False, False]
    assert got.hard.tolist() == [False, True, True, False, False]
    assert got.purified.tolist() == [False, False, False, True, False]
    assert got.targets.tolist() == [0, 0, 0, 1, 0]
    assert got.belief.tolist() == pytest.approx([0.75, 0.6, 0.4, 0.95, 0.4])


def test_equals_the_loop() -> None:
    rng = np.random.default_rng(0)
    weak, strong = rng.dirichlet(np.full(3, 0.3), 200), rng.dirichlet(np.full(3, 0.3), 200)
    labels, tau = rng.integers(-2, 3, 200), rng.random((200, 2)) * 0.5
    labels[labels == -1] = -2
    got = select_by_threshold(*(torch.tensor(part) for part in (weak, strong, labels, tau)), margin=0.3, cap=0.7)
    for i in range(200):
        by_weak = bool(labels[i] >= 0 and weak[i, labels[i]] > tau[i, 0])
        by_strong = bool(labels[i] >= 0 and strong[i, labels[i]] > tau[i, 1])
        mean = (weak[i] + strong[i]) / 2
        purified = not by_weak and not by_strong and mean.max() > min(tau[i].mean() + 0.3, 0.7)
        target = mean.argmax() if purified or labels[i] < 0 else labels[i]
        kinds = (bool(got.clean[i]), bool(got.hard[i]), bool(got.purified[i]))
        assert kinds == (by_weak and by_strong, by_weak != by_strong, bool(purified))
        assert got.targets[i] == target
        assert got.belief[i] == pytest.approx(mean[target])
    assert all(part.any() and not part.all() for part in got[:3])


def test_margin_and_cap_bound_the_relabelling() -> None:
    weak = strong = torch.tensor([[0.05, 0.95]])
    labels, high = torch.tensor([0]), torch.full((1, 2), 0.6)
    assert not select_by_threshold(weak, strong, labels, high, margin=0.5, cap=0.99).purified.any()
    assert select_by_threshold(weak, strong, labels, high, margin=0.5, cap=0.9).purified.all()
    assert select_by_threshold(weak, strong, labels, high, margin=0.3, cap=0.99).purified.all()


def test_an_equal_probability_is_not_enough() -> None:
    even = torch.tensor([[0.5, 0.5]])
    got = select_by_threshold(even, even, torch.tensor([1]), torch.full((1, 2), 0.5), margin=0.0)
    assert not torch.stack(got[:3]).any()


def test_unlabelled_samples_are_purified_or_nothing() -> None:
    sure, unsure = [0.0, 1.0], [0.5, 0.5]
    views = torch.tensor([sure, unsure])
    got = select_by_threshold(views, views, torch.tensor([-2, -2]), torch.zeros(2, 2), margin=0.5)
    assert got.purified.tolist() == [True, False]
    assert not (got.clean | got.hard).any()
    assert got.targets[0] == 1
    assert (got.targets >= 0).all()


def test_no_sample_at_all() -> None:
    nobody = torch.empty(0, 3)
    got = select_by_threshold(nobody, nobody, torch.empty(0, dtype=torch.long), torch.empty(0, 2))
    assert all(part.shape == (0,) for part in got)


def test_thresholds_follow_the_largest_probability() -> None:
    weak, strong = torch.tensor([[0.2, 0.8]]), torch.tensor([[0.6, 0.4]])
    moved = follow_confidence(torch.tensor([[0.5, 0.1]]), weak, strong, 0.9)
    assert moved.tolist() == [pytest.approx([0.45 + 0.08, 0.09 + 0.06])]
