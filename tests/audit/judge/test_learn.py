"""Decisions and descriptions behind an audit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lond.audit.judge.learn import Learned, unit_features
from lond.audit.judge.out_of_fold import calibrate_out_of_fold
from lond.identify import negative_margin
from lond.presets.features import on_features
from lond.types import UNLABELLED, Prediction


def test_features_are_unit_means_of_the_views() -> None:
    values = np.array([[[3, 0], [3, 8]], [[0, 1], [0, 3]]], dtype=np.float16)
    assert torch.allclose(unit_features(values), torch.tensor([[0.6, 0.8], [0.0, 1.0]]))


def learned(probabilities: torch.Tensor, scores: torch.Tensor, labels: torch.Tensor) -> Learned:
    prediction = Prediction(probabilities, scores, torch.zeros(len(scores), 1), probabilities)
    none = torch.zeros(len(scores))
    return Learned(None, prediction, none, none, none, none, none, calibrate_out_of_fold(labels, prediction, 0.05))  # type: ignore[arg-type]


def test_p_values_within_a_class_are_ranks_among_its_own_known_images() -> None:
    labels = torch.tensor([0] * 25 + [1] * 25 + [2] * 3)
    # Class 1 lies far higher than class 0; class 2 is too small for a yardstick of its own.
    scores = torch.cat([torch.arange(25.0), 100 + torch.arange(25.0), torch.tensor([5.0, 110.0, 500.0])])
    found = learned(torch.nn.functional.one_hot(labels, 3).float(), scores, labels)
    own, overall = found.class_p_values(labels), found.p_values()
    for start in (0, 25):
        assert own[start : start + 25].tolist() == pytest.approx([(1 + 25 - rank) / 26 for rank in range(25)])
    assert torch.equal(own[50:], overall[50:])
    assert overall[25] < 0.6 < own[25]


def test_without_a_decision_there_are_no_p_values() -> None:
    labels = torch.tensor([0, 1])
    found = learned(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([1.0, 2.0]), labels)
    assert found.calibration is None
    assert found.class_p_values(labels).isnan().all()


def test_margins_go_by_the_label_that_is_given() -> None:
    """A copy under another label shares everything with its original but the label."""
    config = on_features(100)
    config = replace(config, settings=replace(config.settings, identify=replace(config.settings.identify, top=1)))
    votes = torch.tensor([[0.7, 0.2, 0.1]])
    denials = torch.tensor([[0.1, 0.8, 0.9]])
    run = SimpleNamespace(config=config)
    none = torch.zeros(1)
    found = Learned(run, none, votes, denials, none, none, none, None)  # type: ignore[arg-type]
    neighbour, negative = found.margins(torch.tensor([0, 0, 0]), torch.tensor([0, 1, UNLABELLED]))
    assert neighbour.tolist() == pytest.approx([0.7 - 0.2, 0.2 - 0.7, 0.01 - 0.7])
    expected = negative_margin(denials.double().expand(3, -1), torch.tensor([0, 1, 0]))
    assert negative.tolist() == pytest.approx(expected.tolist())
