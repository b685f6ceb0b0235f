"""What an audit learns from: copies and conflicts, small classes, and features of several views."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from lond.audit.copies.duplicates import DuplicateGroups
from lond.audit.to_learn import first_look, mean_of_views, near_copies, no_label_below_zero
from lond.data.sources import load
from lond.errors import DataError
from lond.types import Problem


@pytest.mark.parametrize(("views", "kind"), [(1, np.float32), (1, np.float16), (3, np.float32)])
def test_views_are_averaged(views: int, kind: type) -> None:
    features = np.random.default_rng(0).normal(size=(7, views, 4)).astype(kind)
    wanted = features.astype(np.float64).mean(axis=1)
    np.testing.assert_allclose(mean_of_views(features), wanted, rtol=1e-3, atol=1e-6)


def test_small_and_empty_classes_are_named() -> None:
    labels = ["cat"] * 12 + ["dog"] * 3 + [None]
    notes = first_look(load((np.zeros((16, 2)), labels)))
    assert [note for note in notes if "dog" in note] == ["class 'dog' has only 3 images; its verdicts are guesses"]
    assert not [note for note in notes if "cat" in note]
    assert any("1 image has no label" in note for note in notes)


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "1 file or folder was left out and has no row in the table: 0.txt (no image)"),
        (12, "12 files or folders were left out and have no row in the table: 0.txt (no image); "),
    ],
)
def test_files_left_out_are_named(count: int, told: str) -> None:
    samples = load((np.zeros((24, 2)), ["cat", "dog"] * 12))
    problems = tuple(Problem(f"{number}.txt", "no image") for number in range(count))
    (note,) = first_look(replace(samples, problems=problems))
    assert note.startswith(told) and note.endswith("; and 2 more" if count > 10 else told)


def test_one_class_is_nothing_to_compare() -> None:
    with pytest.raises(DataError, match="at least two"):
        first_look(load((np.zeros((3, 2)), ["cat"] * 3)))


def test_labels_below_zero_are_none() -> None:
    assert no_label_below_zero(torch.tensor([2, -1, 0, -2])).tolist() == [2, -2, 0, -2]


def test_near_copies_by_their_place_among_the_images_learned_from() -> None:
    # Image 2 is an exact copy of 0 and not learned from; 3 nearly repeats 1; 4 nearly repeats 2, which is left out.
    nothing = torch.zeros(5, dtype=torch.bool)
    first = torch.tensor([0, 1, 0, 1, 2])
    groups = DuplicateGroups(torch.zeros(5, dtype=torch.long), first, nothing, nothing, torch.ones(5))
    assert near_copies(groups, torch.tensor([0, 1, 3, 4])).tolist() == [0, 1, 1, 3]
