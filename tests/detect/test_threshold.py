"""The threshold against counting, its coverage, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lond.detect.threshold import threshold_at
from lond.errors import DataError

RATES = ("0.01", "0.05", "0.1", "0.25", "0.5", "0.9")


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=60), st.sampled_from(RATES))
def test_is_the_smallest_score_that_enough_others_do_not_exceed(scores: list[float], rate: str) -> None:
    needed = (len(scores) + 1) * (1 - Fraction(rate))
    if needed > len(scores):
        smallest = next(n for n in range(1, 200) if (n + 1) * (1 - Fraction(rate)) <= n)
        with pytest.raises(DataError, match=f"at least {smallest} known samples, there are {len(scores)}"):
            threshold_at(torch.tensor(scores), float(rate))
        return
    threshold = threshold_at(torch.tensor(scores), float(rate))
    expected = min(s for s in scores if sum(other <= s for other in scores) >= needed)
    assert threshold == expected


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("size", [19, 40, 99])
def test_new_known_samples_exceed_it_at_most_at_the_chosen_rate(rate: float, size: int) -> None:
    """Exact for exchangeable scores: of n + 1 distinct scores each is the new one equally often."""
    scores = torch.randn(size + 1, generator=torch.Generator().manual_seed(size)).double()
    exceeded = sum(
        float(scores[new]) > threshold_at(torch.cat([scores[:new], scores[new + 1 :]]), rate) for new in range(size + 1)
    )
    share = exceeded / (size + 1)
    assert share <= rate
    assert share > rate - 1 / (size + 1) - 1e-9


def test_by_hand() -> None:
    assert threshold_at(torch.arange(1.0, 20.0), 0.05) == 19.0
    assert threshold_at(torch.arange(1.0, 100.0), 0.05) == 95.0
    assert threshold_at(torch.tensor([3.0, 1.0, 2.0]), 0.5) == 2.0
    assert threshold_at(torch.tensor([7.0] * 30), 0.1) == 7.0


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_refuses_a_rate_that_is_none(rate: float) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        threshold_at(torch.arange(50.0), rate)


def test_refuses_no_scores_and_scores_that_are_not_finite() -> None:
    with pytest.raises(DataError, match="there are 0"):
        threshold_at(torch.empty(0), 0.1)
    for bad in (math.nan, math.inf):
        with pytest.raises(DataError, match="not finite"):
            threshold_at(torch.tensor([bad] + [0.0] * 30), 0.1)
