"""Folds, decisions and descriptions behind an audit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lond.audit.learn import OUT_OF_FOLD, default_folds, fold_of, make_decision, unit_features
from lond.errors import DataError
from lond.types import UNLABELLED, Prediction


def test_folds_are_even_in_every_class() -> None:
    labels = torch.tensor([0] * 20 + [1] * 10 + [UNLABELLED] * 5)
    division = fold_of(labels, 5, 0)
    for label, each in ((0, 4), (1, 2), (UNLABELLED, 1)):
        assert torch.bincount(division[labels == label], minlength=5).tolist() == [each] * 5
    assert torch.equal(division, fold_of(labels, 5, 0))
    assert not torch.equal(division, fold_of(labels, 5, 1))
    with pytest.raises(DataError, match="too few for 5 folds"):
        fold_of(labels[18:24], 5, 0)


@pytest.mark.parametrize(("images", "folds"), [(100, 5), (5_000, 5), (5_001, 3), (20_000, 3), (50_000, 2)])
def test_many_images_are_judged_in_fewer_parts(images: int, folds: int) -> None:
    assert default_folds(images) == folds


def test_the_threshold_comes_from_images_the_judges_agree_with() -> None:
    probabilities = torch.eye(2).repeat(50, 1)
    labels = torch.arange(100) % 2
    labels[:20] = 1 - labels[:20]
    scores = torch.arange(100.0)
    prediction = Prediction(probabilities, scores, torch.zeros(100, 1), probabilities)
    decision = make_decision(labels, prediction, 0.05)
    assert decision is not None
    assert decision.source == OUT_OF_FOLD
    assert torch.equal(decision.known_scores, scores[20:])
    assert make_decision(1 - torch.arange(100) % 2, prediction, 0.05) is None


def test_features_are_unit_means_of_the_views() -> None:
    values = np.array([[[3, 0], [3, 8]], [[0, 1], [0, 3]]], dtype=np.float16)
    assert torch.allclose(unit_features(values), torch.tensor([[0.6, 0.8], [0.0, 1.0]]))
