"""GradNorm against a backward pass for every sample."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from detect.last_layer_samples import SIZE, Head, features
from torch import Tensor

from lond.detect import Evidence, GradNorm
from lond.errors import ConfigError


def by_autograd(head: Head, feature: Tensor, temperature: float) -> float:
    weight = head.weight.double().requires_grad_()
    logits = feature.double() @ weight.T + head.bias
    uniform = torch.full_like(logits, 1 / len(logits))
    F.kl_div(F.log_softmax(logits / temperature, dim=0), uniform, reduction="sum").backward()
    assert weight.grad is not None
    return -float(weight.grad.abs().sum())


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_equals_autograd(classes: int, temperature: float) -> None:
    head, queries = Head(classes), features(7) - 0.3
    scores = GradNorm(temperature=temperature).score_features(Evidence(queries, head(queries)))
    expected = [by_autograd(head, feature, temperature) for feature in queries]
    assert scores.tolist() == pytest.approx(expected, rel=1e-5)


def test_an_undecided_prediction_is_most_foreign() -> None:
    scores = GradNorm().score_features(Evidence(torch.ones(2, SIZE), torch.tensor([[1.0, 1.0], [9.0, 0.0]])))
    assert scores[0] == 0 and scores[1] < 0


def test_refuses_a_temperature_that_is_none() -> None:
    with pytest.raises(ConfigError, match="temperature"):
        GradNorm(temperature=0)
