"""Eq. 15 against a loop."""

from __future__ import annotations

import pytest
import torch

from lond.detect import open_world_score


@pytest.mark.parametrize("classes", [1, 2, 6])
def test_is_the_negative_of_the_nearest_prototypes_class(classes: int) -> None:
    random = torch.Generator().manual_seed(classes)
    negatives, nearness = torch.rand(11, classes, generator=random), torch.randn(11, classes, generator=random)
    expected = []
    for row, near in zip(negatives.tolist(), nearness.tolist(), strict=True):
        expected.append(row[max(range(classes), key=lambda c: near[c])])
    scores = open_world_score(negatives, nearness)
    assert scores.shape == (11,)
    assert scores.tolist() == expected


def test_the_prototype_decides_not_the_one_vs_all_output() -> None:
    negatives = torch.tensor([[0.1, 0.8, 0.9]])
    assert open_world_score(negatives, torch.tensor([[0.0, 3.0, 1.0]])).tolist() == pytest.approx([0.8])


def test_no_image() -> None:
    assert open_world_score(torch.empty(0, 3), torch.empty(0, 3)).shape == (0,)
