"""Folds: even in every class, near copies in one of them, no class that a model never saw."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lond.crossfit.folds import count_folds, fold_of
from lond.errors import DataError
from lond.types import UNLABELLED


def test_folds_are_even_in_every_class() -> None:
    labels = torch.tensor([0] * 20 + [1] * 10 + [UNLABELLED] * 5)
    division = fold_of(labels, 5, 0)
    for label, each in ((0, 4), (1, 2), (UNLABELLED, 1)):
        assert torch.bincount(division[labels == label], minlength=5).tolist() == [each] * 5
    assert torch.equal(division, fold_of(labels, 5, 0))
    assert not torch.equal(division, fold_of(labels, 5, 1))
    with pytest.raises(DataError, match="too few for 5 folds"):
        fold_of(labels[18:24], 5, 0)


def test_near_copies_share_a_fold() -> None:
    labels = torch.arange(40) % 2
    together = torch.arange(40)
    together[20:30] = torch.arange(10)
    division = fold_of(labels, 4, 0, together)
    assert division[20:30].equal(division[:10])
    others = torch.cat([torch.arange(10, 20), torch.arange(30, 40)])
    assert division[others].equal(fold_of(labels, 4, 0)[others])


def test_groups_go_where_their_label_is_rare() -> None:
    """Label 0 has two groups of four and two single images; label 1 has single images only."""
    labels = torch.tensor([0] * 10 + [1] * 10)
    together = torch.tensor([0] * 4 + [4] * 4 + list(range(8, 20)))
    division = fold_of(labels, 2, 0, together)
    assert len(division[:4].unique()) == len(division[4:8].unique()) == 1
    assert division[0] != division[4]


def slowly_joined(plain: list[int], labels: list[int], together: list[int], folds: int) -> list[int]:
    """Return the division with groups moved one by one, the largest first, each to where its label is rarest."""
    members: dict[int, list[int]] = {}
    for row, first in enumerate(together):
        members.setdefault(first, []).append(row)
    groups = [rows for _, rows in sorted(members.items()) if len(rows) > 1]
    groups = [rows for rows in groups if labels[rows[0]] < 0 or 2 * len(rows) <= labels.count(labels[rows[0]])]
    moving = {row for rows in groups for row in rows}
    found = [-1 if row in moving else fold for row, fold in enumerate(plain)]
    for rows in sorted(groups, key=lambda rows: -len(rows)):
        own = labels[rows[0]]
        placed = [found[row] for row, label in enumerate(labels) if label == own]
        counts = [placed.count(fold) for fold in range(folds)]
        for row in rows:
            found[row] = counts.index(min(counts))
    return found


@pytest.mark.parametrize("unlabelled", [-1, UNLABELLED])
@pytest.mark.parametrize("seed", range(6))
def test_groups_are_placed_like_one_by_one(seed: int, unlabelled: int) -> None:
    """Labels 0, 1 and none have groups and single images; all images of the last label are in two groups."""
    random = torch.Generator().manual_seed(seed)
    kinds = torch.tensor([unlabelled, 0, 1])
    labels = torch.cat([kinds[torch.randint(3, (60,), generator=random)], torch.full((6,), 2)])
    together = torch.arange(66)
    for label in kinds:
        rows = (labels[:60] == label).nonzero().squeeze(1)
        together[rows[:5]], together[rows[5:8]], together[rows[8:10]] = rows[0], rows[5], rows[8]
    together[60:63], together[63:] = 60, 63
    plain = fold_of(labels, 3, seed).tolist()
    expected = slowly_joined(plain, labels.tolist(), together.tolist(), 3)
    assert fold_of(labels, 3, seed, together).tolist() == expected != plain


@pytest.mark.parametrize("size", [6, 10])
def test_a_group_that_is_most_of_its_class_is_divided(size: int) -> None:
    labels = torch.arange(20) // 10
    together = torch.arange(20)
    together[:size] = 0
    assert fold_of(labels, 2, 0, together).equal(fold_of(labels, 2, 0))


def test_copies_of_one_image_do_not_leave_folds_empty() -> None:
    labels = torch.full((40,), UNLABELLED)
    labels[:8] = torch.arange(8) % 2
    together = torch.arange(40)
    together[4:] = 4
    assert len(fold_of(labels, 4, 0, together).unique()) == 4


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_no_class_is_missing_where_others_are_judged(folds: int, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    labels = torch.cat([torch.arange(3).repeat(4 * folds), torch.randint(-1, 3, (30,), generator=random)])
    first = torch.randint(len(labels), (len(labels),), generator=random)
    # A group has one label, and its first member points to itself.
    together = torch.where(torch.rand(len(labels), generator=random) < 0.5, first, torch.arange(len(labels)))
    roots = together == torch.arange(len(labels))
    alike = roots[together] & (labels[together] == labels)
    together = torch.where(alike, together, torch.arange(len(labels)))
    division = fold_of(labels, folds, seed, together)
    assert sorted(division.unique().tolist()) == list(range(folds))
    for fold in range(folds):
        assert set(labels[division != fold].tolist()) >= {0, 1, 2}


@pytest.mark.parametrize(("labelled", "folds"), [(0, 2), (5, 2), (6, 3), (9, 4), (10, 5), (50_000, 5)])
def test_few_labels_are_judged_in_fewer_parts(labelled: int, folds: int) -> None:
    labels = torch.cat([torch.zeros(labelled, dtype=torch.long), torch.full((7,), UNLABELLED)])
    assert count_folds(labels) == folds
