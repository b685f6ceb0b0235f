"""Eq. 15 against a loop."""

from __future__ import annotations

import pytest
import torch

from lond.detect import Evidence, OpenWorld, open_world_score
from lond.losses import negative_probabilities


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


def test_the_detector_takes_log_odds_and_class_scores() -> None:
    random = torch.Generator().manual_seed(3)
    pairs, nearness = torch.randn(9, 4, 2, generator=random), torch.randn(9, 4, generator=random)
    evidence = Evidence(logits=pairs[..., 1] - pairs[..., 0], class_scores=nearness)
    expected = open_world_score(negative_probabilities(pairs), nearness)
    assert torch.allclose(OpenWorld().score_features(evidence), expected)


def test_class_scores_are_never_guessed() -> None:
    with pytest.raises(ValueError, match="needs class_scores"):
        OpenWorld().score_features(Evidence(logits=torch.zeros(2, 3)))


def test_larger_means_more_foreign() -> None:
    odds, nearness = torch.tensor([[4.0, -4.0], [-4.0, -4.0]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    known, foreign = OpenWorld().score_features(Evidence(logits=odds, class_scores=nearness)).tolist()
    assert foreign > 0.9 > 0.1 > known
