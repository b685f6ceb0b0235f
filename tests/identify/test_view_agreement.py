"""Jo-SRC's threshold plan and its three-way split."""

from __future__ import annotations

import pytest
import torch

from lond.identify import assign_by_views, rising_threshold


def test_the_published_plan() -> None:
    plan = [rising_threshold(epoch, 10, 190, 0.75, 0.95) for epoch in range(200)]
    assert plan[0] == 0
    assert plan[4] == pytest.approx(0.3)
    assert plan[10] == pytest.approx(0.75)
    assert plan[105] == pytest.approx(0.85)
    assert plan[199] == pytest.approx(0.75 + 0.2 * 189 / 190)
    assert plan == sorted(plan)


def test_the_plan_stays_at_its_end_and_may_skip_either_part() -> None:
    assert rising_threshold(99, 2, 5, 0.6, 0.9) == pytest.approx(0.9)
    assert rising_threshold(0, 0, 4, 0.6, 0.9) == pytest.approx(0.6)
    assert rising_threshold(3, 3, 0, 0.6, 0.9) == pytest.approx(0.9)


def test_every_sample_is_of_one_kind() -> None:
    likelihood = torch.tensor([0.8, 0.75, 0.7, 0.7, 0.9, 0.9])
    labels = torch.tensor([0, 1, 1, 1, -2, -2])
    first, second = torch.tensor([0, 2, 2, 2, 1, 1]), torch.tensor([1, 2, 2, 0, 1, 0])
    kinds = assign_by_views(likelihood, labels, 0.75, first, second)
    assert kinds.clean.tolist() == [True, True, False, False, False, False]
    assert kinds.closed.tolist() == [False, False, True, False, True, False]
    assert kinds.open.tolist() == [False, False, False, True, False, True]


def test_a_threshold_of_zero_takes_all_labelled_samples() -> None:
    labels = torch.tensor([0, -2])
    kinds = assign_by_views(torch.zeros(2), labels, 0.0, labels, labels)
    assert kinds.clean.tolist() == [True, False]
