"""DICE against loops."""

from __future__ import annotations

import pytest
import torch
from detect.last_layer_samples import Head, features
from reference import detectors as ref

from lond.detect import DICE, Evidence, NoNetworkError
from lond.detect import evidence as blocks
from lond.detect.dice import sparse_weight
from lond.errors import ConfigError


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("rows", [1, 50])
@pytest.mark.parametrize("percentile", [0.0, 50.0, 90.0])
def test_equals_loops(classes: int, rows: int, percentile: float) -> None:
    head = Head(classes)
    detector = DICE(head=head, percentile=percentile).fit_features(Evidence(features(rows)))
    arrays = features(9, 1).double().numpy(), features(rows).double().numpy()
    expected = ref.dice(*arrays, *head.arrays, percentile)
    assert detector.score_features(Evidence(features(9, 1))).tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_weights_by_hand() -> None:
    weight = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    assert sparse_weight(weight, torch.tensor([1.0, 0.5]), 50).tolist() == [[0, 0], [3, 4]]


def test_a_tenth_of_the_weights_stays_by_default() -> None:
    """The 90th percentile of 1 to 20 is 18.1."""
    weight = torch.arange(1.0, 21.0).reshape(4, 5)
    assert sparse_weight(weight, torch.ones(5)).flatten().tolist() == [0] * 18 + [19, 20]
    assert DICE().percentile == 90


def test_the_mean_by_hand() -> None:
    fitted = DICE().fit_features(Evidence(torch.tensor([[1.0, 0.0], [2.0, 6.0], [6.0, 0.0]])))
    assert fitted.state["mean"].tolist() == [3, 2]


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DICE().fit_features(Evidence(features(50))).state["mean"]
    monkeypatch.setattr("lond.detect.dice.BLOCK_ROWS", 7)
    assert blocks.BLOCK_ROWS != 7
    assert torch.allclose(DICE().fit_features(Evidence(features(50))).state["mean"], whole)


def test_a_sample_without_the_usual_features_is_more_foreign() -> None:
    detector = DICE(head=lambda h: 2 * h, percentile=80).fit_features(Evidence(torch.tensor([[5.0, 0.1, 5.0]])))
    usual, other = detector.score_features(Evidence(torch.tensor([[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]])))
    assert other > usual


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="percentile"):
        DICE(percentile=100)
    with pytest.raises(NoNetworkError, match="DICE needs a network"):
        DICE().fit_features(Evidence(features(9))).score_features(Evidence(features(2)))
