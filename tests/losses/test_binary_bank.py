"""The bank's losses by hand and against a loop, and the random negatives."""

from __future__ import annotations

import math

import pytest
import torch

from lond.losses import binary_bank, draw_others, hard_negative_bank, hardest_other, random_negative_bank


def logits_of(positives: list[list[float]]) -> torch.Tensor:
    """Two logits a class whose softmax gives these probabilities."""
    p = torch.tensor(positives)
    return torch.stack([(1 - p).log(), p.log()], dim=-1)


def test_by_hand() -> None:
    logits = logits_of([[0.8, 0.3, 0.6], [0.5, 0.9, 0.1]])
    got = binary_bank(logits, torch.tensor([0, 2]), torch.tensor([[1, 2], [0, 1]]))
    assert got.dtype == torch.float32
    assert got[0].item() == pytest.approx(-math.log(0.8 * 0.7 * 0.4), abs=1e-6)
    assert got[1].item() == pytest.approx(-math.log(0.1 * 0.5 * 0.1), abs=1e-6)


def test_classes_that_are_not_listed_get_no_gradient() -> None:
    logits = torch.zeros(1, 4, 2, requires_grad=True)
    binary_bank(logits, torch.tensor([1]), torch.tensor([[3]])).sum().backward()
    assert logits.grad is not None
    assert logits.grad[0].abs().sum(dim=1).bool().tolist() == [False, True, False, True]


def test_no_negatives_and_no_rows() -> None:
    logits = logits_of([[0.8, 0.3]])
    alone = binary_bank(logits, torch.tensor([0]), torch.zeros(1, 0, dtype=torch.long))
    assert alone.item() == pytest.approx(-math.log(0.8), abs=1e-6)
    none = torch.zeros(0, dtype=torch.long)
    assert random_negative_bank(torch.zeros(0, 3, 2), none, torch.Generator()).shape == (0,)
    assert hard_negative_bank(torch.zeros(0, 3, 2), none, torch.zeros(0, 3), torch.Generator()).shape == (0,)


def test_extremes_stay_finite() -> None:
    logits = torch.tensor([[[300.0, -300.0], [-300.0, 300.0]]], dtype=torch.float16, requires_grad=True)
    loss = binary_bank(logits, torch.tensor([0]), torch.tensor([[1]]))
    assert loss.item() == pytest.approx(1200, rel=1e-3)
    loss.sum().backward()
    assert logits.grad is not None and logits.grad.isfinite().all()


@pytest.mark.parametrize(("classes", "taken"), [(2, 1), (5, 1), (5, 2), (3, 2), (100, 2)])
def test_drawn_classes_are_free_and_all_occur(classes: int, taken: int) -> None:
    random = torch.Generator().manual_seed(0)
    rows = torch.stack([torch.randperm(classes, generator=random)[:taken] for _ in range(40 * classes)])
    drawn = draw_others(rows, classes, random)
    assert drawn.shape == (len(rows), 1)
    assert not (drawn == rows).any()
    assert drawn.min() >= 0 and drawn.max() < classes
    fixed = draw_others(torch.arange(taken).expand(60 * classes, taken), classes, random)
    counts = torch.bincount(fixed.squeeze(1), minlength=classes)[taken:]
    assert counts.min() > 0.3 * counts.float().mean()


def test_nothing_is_left_to_draw() -> None:
    assert draw_others(torch.tensor([[0, 1], [1, 0]]), 2, torch.Generator()).shape == (2, 0)


def test_hardest() -> None:
    logits = torch.tensor([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [0.0, -1.0, -2.0]])
    assert hardest_other(logits, torch.tensor([0, 0, 0])).tolist() == [[1], [2], [1]]
    assert hardest_other(torch.zeros(2, 1), torch.tensor([0, 0])).shape == (2, 0)


def test_random_form_uses_the_label_and_one_other() -> None:
    logits = logits_of([[0.8, 0.3, 0.6]]).expand(200, 3, 2)
    losses = random_negative_bank(logits, torch.zeros(200, dtype=torch.long), torch.Generator().manual_seed(0))
    expected = [-math.log(0.8 * 0.4), -math.log(0.8 * 0.7)]
    assert sorted({round(value, 4) for value in losses.tolist()}) == pytest.approx(sorted(expected), abs=1e-4)


def test_hard_form_adds_the_hardest_class() -> None:
    logits = logits_of([[0.8, 0.3, 0.6, 0.5]]).expand(200, 4, 2)
    by_class = torch.tensor([[0.0, 5.0, 1.0, 2.0]]).expand(200, 4)
    losses = hard_negative_bank(logits, torch.zeros(200, dtype=torch.long), by_class, torch.Generator().manual_seed(0))
    expected = [-math.log(0.8 * 0.7 * 0.4), -math.log(0.8 * 0.7 * 0.5)]
    assert sorted({round(value, 4) for value in losses.tolist()}) == pytest.approx(sorted(expected), abs=1e-4)


def test_with_two_classes_the_other_one_is_the_only_negative() -> None:
    logits = logits_of([[0.8, 0.3]])
    hard = hard_negative_bank(logits, torch.tensor([0]), torch.zeros(1, 2), torch.Generator())
    assert hard.item() == pytest.approx(-math.log(0.8 * 0.7), abs=1e-6)
    assert random_negative_bank(logits, torch.tensor([0]), torch.Generator()).item() == pytest.approx(hard.item())


def test_draws_come_from_the_generator() -> None:
    rows = torch.zeros(50, 1, dtype=torch.long)
    first, again = (draw_others(rows, 9, torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, draw_others(rows, 9, torch.Generator().manual_seed(5)))
