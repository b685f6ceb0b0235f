"""Maximum logit against a loop."""

from __future__ import annotations

import pytest
import torch

from lond.detect import MLS, Evidence


@pytest.mark.parametrize("classes", [1, 2, 7])
def test_equals_a_loop(classes: int) -> None:
    logits = 4 * torch.randn(9, classes, generator=torch.Generator().manual_seed(classes))
    scores = MLS().score_features(Evidence(logits=logits))
    assert scores.tolist() == [-max(row) for row in logits.tolist()]


def test_half_precision_comes_back_as_single() -> None:
    logits = torch.tensor([[3.0, -2.0]]).half()
    scores = MLS().score_features(Evidence(logits=logits))
    assert (scores.dtype, scores.tolist()) == (torch.float32, [-3.0])


def test_larger_means_more_foreign() -> None:
    sure, unsure = MLS().score_features(Evidence(logits=torch.tensor([[9.0, 0.0], [1.0, 0.0]]))).tolist()
    assert unsure > sure
