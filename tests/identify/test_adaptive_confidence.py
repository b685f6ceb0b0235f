"""The selection rules of CIR against loops and at the edges."""

from __future__ import annotations

import pytest
import torch

from lond.identify import learning_state, select_agreeing, select_confident, select_small_loss

PROBABILITIES = torch.tensor(
    [
        [0.95, 0.03, 0.02],
        [0.92, 0.04, 0.04],
        [0.05, 0.94, 0.01],
        [0.30, 0.50, 0.20],
        [0.30, 0.40, 0.30],
        [0.20, 0.30, 0.50],
    ]
)


def test_learning_state_by_hand() -> None:
    """Two samples are surely of class 0, one of class 1, none of class 2."""
    assert learning_state(PROBABILITIES, 0.9).tolist() == [1.0, 0.5, 0.0]


def test_confident_by_hand() -> None:
    """Thresholds are 0.9, 0.45 and 0: a class that is not learned yet admits whoever agrees."""
    labels = torch.tensor([0, 1, 1, 1, 1, 2])
    assert select_confident(PROBABILITIES, labels, 0.9).tolist() == [True, False, True, True, False, True]
    assert not select_confident(PROBABILITIES, torch.full((6,), -2), 0.9).any()


def test_nobody_is_confident() -> None:
    assert learning_state(PROBABILITIES, 0.99).tolist() == [1.0, 1.0, 1.0]
    labels = PROBABILITIES.argmax(dim=1)
    assert not select_confident(PROBABILITIES, labels, 0.99).any()
    assert select_confident(PROBABILITIES[:0], labels[:0], 0.9).shape == (0,)


def test_agreeing() -> None:
    positives = torch.tensor([[0.2, 0.1], [0.9, 0.95], [0.6, 0.5]])
    assert select_agreeing(positives, torch.tensor([0, 0, -2])).tolist() == [True, False, False]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.29, 0.5, 1.0])
def test_small_loss_equals_the_loop(share: float) -> None:
    random = torch.Generator().manual_seed(0)
    labels = torch.cat([torch.full((100,), 0), torch.full((37,), 1), torch.full((20,), -2), torch.tensor([3])])
    labels = labels[torch.randperm(len(labels), generator=random)]
    losses = torch.rand(len(labels), generator=random)
    chosen = set()
    for label, size in ((0, 100), (1, 37), (3, 1)):
        mine = sorted((i for i in range(len(labels)) if labels[i] == label), key=lambda i: float(losses[i]))
        chosen |= set(mine[: max(int(share > 0), int(round(share * 100) * size // 100))])
    assert set(select_small_loss(losses, labels, share).nonzero().squeeze(1).tolist()) == chosen


def test_small_loss_of_nothing() -> None:
    assert select_small_loss(torch.zeros(0), torch.zeros(0, dtype=torch.long), 0.5).shape == (0,)
    assert not select_small_loss(torch.rand(5), torch.full((5,), -2), 1.0).any()


def test_a_probability_on_the_threshold_is_not_above_it() -> None:
    even = torch.tensor([[0.75, 0.25], [0.75, 0.25], [0.125, 0.875]])
    assert learning_state(even, 0.75).tolist() == [0.0, 1.0]
    assert select_confident(even[1:], torch.tensor([0, 1]), 0.875).tolist() == [False, False]
