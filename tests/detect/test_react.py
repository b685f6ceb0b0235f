"""ReAct against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from reference import detectors as ref
from torch import Tensor

from lond.detect import Evidence, NoNetworkError, ReAct
from lond.errors import ConfigError


def features(rows: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, 5, generator=torch.Generator().manual_seed(seed)).relu()


WEIGHT = torch.randn(3, 5, generator=torch.Generator().manual_seed(7))


def head(values: Tensor) -> Tensor:
    return values @ WEIGHT.T + 0.5


@pytest.mark.parametrize("rows", [1, 2, 40])
@pytest.mark.parametrize("percentile", [50.0, 85.0, 90.0, 100.0])
def test_equals_loops(rows: int, percentile: float) -> None:
    detector = ReAct(percentile=percentile, head=head).fit_features(Evidence(features(rows)))
    level = ref.percentile(features(rows).double().numpy(), percentile)
    assert float(detector.state["level"]) == pytest.approx(level, rel=1e-6)
    queries = 2 * features(9, 1)
    clipped = np.array([[min(float(x), level) for x in row] for row in queries])
    expected = ref.ebo(clipped @ WEIGHT.double().numpy().T + 0.5)
    assert detector.score_features(Evidence(queries)).tolist() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_labels_are_not_needed_but_negative_ones_count_out() -> None:
    values = torch.tensor([[1.0, 1.0], [9.0, 9.0]])
    assert float(ReAct().fit_features(Evidence(values, labels=torch.tensor([3, -1]))).state["level"]) == 1.0


def test_more_entries_than_torch_can_sort_for_a_quantile() -> None:
    many = torch.zeros(1, 1).expand(2**24 + 1, 1)
    assert float(ReAct().fit_features(Evidence(many)).state["level"]) == 0.0


def test_the_head_is_the_networks_unless_given(network: Any) -> None:
    fit, queries = Evidence(torch.rand(20, 6)), Evidence(torch.rand(4, 6))
    own = ReAct(network).fit_features(fit).score_features(queries)
    given = ReAct(head=network.head).fit_features(fit).score_features(queries)
    assert torch.equal(own, given)
    assert not own.requires_grad
    with pytest.raises(NoNetworkError, match="ReAct needs a network"):
        ReAct().fit_features(fit).score_features(queries)


def test_larger_means_more_foreign_and_clipping_stops_a_burst() -> None:
    detector = ReAct(head=lambda h: h).fit_features(Evidence(torch.rand(50, 3)))
    typical, weak, burst = (
        torch.tensor([[1.0, 0.1, 0.1]]),
        torch.tensor([[0.1, 0.1, 0.1]]),
        torch.tensor([[99.0, 0, 0]]),
    )
    scores = [float(detector.score_features(Evidence(x))) for x in (typical, weak, burst)]
    assert scores[1] > scores[0]
    assert scores[2] > scores[0] - 1


def test_half_precision_features() -> None:
    detector = ReAct(head=lambda h: h).fit_features(Evidence(features(20).half()))
    assert detector.score_features(Evidence(features(3).half())).dtype == torch.float32


@pytest.mark.parametrize("percentile", [0.0, 101.0, float("nan")])
def test_refuses_a_percentile_that_is_none(percentile: float) -> None:
    with pytest.raises(ConfigError, match="percentile"):
        ReAct(percentile=percentile)
