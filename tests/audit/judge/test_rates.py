"""Rates to show, and scores that stand for known images."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lond.audit.judge.rates import known_scores, told_rates
from lond.crossfit.judgement import judge_labels


def judged(clean: list[float]) -> Any:
    chances = torch.tensor([[share, 1 - share, 0.0] for share in clean]).reshape(-1, 3)
    return SimpleNamespace(chances=chances)


def test_classes_add_up_to_the_headline() -> None:
    features = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.cat([torch.arange(40) % 2, torch.full((20,), 0)])
    told = told_rates(judge_labels(features, labels, 3), ("cat", "dog", "none"))
    assert [entry["class"] for entry in told["by_class"]] == ["cat", "dog", "none"]
    assert [entry["images"] for entry in told["by_class"]] == [40, 20, 0]
    assert told["by_class"][2]["wrong"] is None
    for kind in ("wrong", "foreign", "either"):
        parts = [entry["images"] * entry[kind]["estimate"] for entry in told["by_class"][:2]]
        assert sum(parts) / 60 == pytest.approx(told[kind]["estimate"])
        assert set(told[kind]) == {"estimate", "low", "high"}


def test_images_count_as_far_as_they_are_clean() -> None:
    scores = torch.tensor([4.0, 1.0, 2.0, 3.0])
    every = torch.arange(4)
    assert known_scores(judged([1, 1, 1, 1]), scores, every).tolist() == [1, 2, 3, 4]
    assert known_scores(judged([0, 1, 1, 0]), scores, every).tolist() == [1, 2]
    assert known_scores(judged([0.5, 0.5, 0.5, 0.5]), scores, every).tolist() == [1, 3]
    # As much as one image, whose middle is at the second score.
    assert known_scores(judged([0.25, 0.25, 0.25, 0.25]), scores, every).tolist() == [2]
    assert known_scores(judged([0, 1, 1, 1]), scores[1:], torch.tensor([1, 2, 3])).tolist() == [1, 2, 3]


def test_without_a_clean_image_there_is_no_score() -> None:
    assert known_scores(judged([0, 0]), torch.tensor([1.0, 2.0]), torch.arange(2)).tolist() == []
    assert known_scores(judged([]), torch.empty(0), torch.arange(0)).tolist() == []
