"""Maximum softmax probability against loops."""

from __future__ import annotations

import math

import pytest
import torch

from lond.detect import MSP, Evidence, msp_score


@pytest.mark.parametrize("classes", [1, 2, 7])
def test_equals_a_loop(classes: int) -> None:
    logits = 4 * torch.randn(9, classes, generator=torch.Generator().manual_seed(classes))
    expected = []
    for row in logits.double().tolist():
        powers = [math.exp(x - max(row)) for x in row]
        expected.append(1 - max(powers) / math.fsum(powers))
    assert msp_score(logits).tolist() == pytest.approx(expected, abs=1e-6)


def test_extremes_and_half_precision() -> None:
    logits = torch.tensor([[0.0, 0.0], [1e4, -1e4], [-1e4, -1e4]])
    assert msp_score(logits).tolist() == [0.5, 0.0, 0.5]
    assert msp_score(logits.bfloat16()).dtype == torch.float32
    assert msp_score(torch.empty(0, 3)).shape == (0,)


def test_larger_means_more_foreign() -> None:
    sure, unsure = torch.tensor([[9.0, 0.0, 0.0]]), torch.tensor([[1.0, 0.9, 0.8]])
    assert float(msp_score(unsure)) > float(msp_score(sure))


def test_the_detector_scores_logits_without_a_fit() -> None:
    logits = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(MSP().score_features(Evidence(logits=logits)), msp_score(logits))
    assert MSP().fit_features(Evidence()).state == {}
