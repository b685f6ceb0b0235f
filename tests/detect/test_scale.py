"""SCALE against loops."""

from __future__ import annotations

import pytest
import torch
from detect.last_layer_samples import Head, features
from reference import detectors as ref

from lond.detect import ASH, SCALE, Evidence, NoNetworkError
from lond.detect.scale import LARGEST_RATIO, scaled_features
from lond.errors import ConfigError


@pytest.mark.parametrize("percentile", [0.0, 50.0, 85.0, 99.9])
def test_equals_loops(percentile: float) -> None:
    head, queries = Head(), features(9, 1)
    scaled = ref.scale(queries.double().numpy(), percentile)
    scores = SCALE(head=head, percentile=percentile).score_features(Evidence(queries))
    assert scores.tolist() == pytest.approx(ref.ebo(ref.logits_of(scaled, *head.arrays)), rel=1e-4, abs=1e-3)


def test_the_factor_never_exceeds_that_of_equal_features() -> None:
    equal, mixed = torch.ones(1, 8), torch.randn(20, 8)
    largest = float(scaled_features(equal, 50).max())
    assert largest == pytest.approx(torch.tensor(2.0).exp().item())
    assert (scaled_features(mixed, 50).abs() <= mixed.abs() * largest * 1.0001).all()
    assert not scaled_features(torch.zeros(1, 8)).any()


@pytest.mark.parametrize("detector", [SCALE, ASH])
def test_flat_features_have_a_finite_score(detector: type[SCALE | ASH]) -> None:
    # One of 1,280 equal entries is kept: the ratio of sums is 1,280, and exp(1,280) is beyond any float.
    flat, peaked = torch.ones(1, 1280), torch.eye(1, 1280) * 9
    scores = detector(percentile=99.95, head=torch.nn.Linear(1280, 5)).score_features(
        Evidence(torch.cat([flat, peaked]))
    )
    assert scores.isfinite().all()


def test_a_ratio_below_the_bound_is_exact() -> None:
    scaled = scaled_features(torch.ones(1, 100, dtype=torch.float64), 98)
    assert scaled.max().item() == pytest.approx(torch.tensor(50.0).exp().item(), rel=1e-4)
    assert scaled_features(torch.ones(1, 100), 99).max().item() == pytest.approx(
        torch.tensor(LARGEST_RATIO).exp().item(), rel=1e-4
    )


def test_small_features_are_scaled_as_large_ones() -> None:
    """Half of the entries sum to 0.5 of 0.625, all of it below 1."""
    row = torch.tensor([[0.375, 0.125, 0.125, 0.0]])
    factor = torch.tensor(1.25).exp().item()
    assert scaled_features(row, 50)[0].tolist() == pytest.approx([0.375 * factor, 0.125 * factor, 0.125 * factor, 0])


@pytest.mark.parametrize("row", [[-1.0, -1.0], [0.0, -3.0], [0.0, 0.0]])
def test_the_ratio_is_one_where_the_largest_entries_do_not_sum_to_more_than_zero(row: list[float]) -> None:
    assert scaled_features(torch.tensor([row]), 50)[0].tolist() == pytest.approx([torch.e * value for value in row])


@pytest.mark.parametrize("percentile", [-1.0, 100.0, float("nan")])
def test_refuses_a_percentile_that_is_none(percentile: float) -> None:
    with pytest.raises(ConfigError, match="percentile"):
        SCALE(percentile=percentile)


def test_needs_a_head_or_a_network() -> None:
    with pytest.raises(NoNetworkError, match="SCALE needs a network"):
        SCALE().score_features(Evidence(features(2)))
