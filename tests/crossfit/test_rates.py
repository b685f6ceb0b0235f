"""Rates with intervals: by hand, at the ends, and how often they hold the truth if the probabilities are right."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from lond.crossfit import rates
from lond.crossfit.chances import Spread
from lond.crossfit.rates import QUANTILE, EstimatedRate, doubt_in

EXACT = ((0.0, 0.0), (0.0, 0.0))


def rate_of(chances: Tensor, spread: Spread) -> EstimatedRate:
    """Return the rate of images on which nobody decided."""
    return rates.rate_of(chances, spread, torch.ones(len(chances), dtype=torch.bool))


def test_without_doubt_about_the_noise_only_chance_is_left() -> None:
    rate = rate_of(torch.full((100,), 0.2), EXACT)
    luck = QUANTILE * math.sqrt(0.2 * 0.8 / 100)
    assert rate == pytest.approx((0.2, 0.2 - luck, 0.2 + luck))


def test_unknown_noise_widens_the_interval_the_more_the_less_sure_probabilities_are() -> None:
    spread = ((0.1, 0.2), (0.05, 0.3))
    certain = torch.tensor([1.0] * 25 + [0.0] * 75)
    assert rate_of(certain, spread) == pytest.approx((0.25, 0.15, 0.3))
    unsure = torch.full((10_000,), 0.25)
    doubt = math.sqrt(0.25 * 0.75)
    luck = QUANTILE * doubt / 100
    low, high = 0.25 - math.hypot(0.1 + 0.2 * doubt, luck), 0.25 + math.hypot(0.05 + 0.3 * doubt, luck)
    assert rate_of(unsure, spread) == pytest.approx((0.25, low, high))
    assert doubt_in(unsure.double()) == pytest.approx(doubt) and doubt_in(certain) == 0


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rates_stay_within_nothing_and_all(value: float) -> None:
    rate = rate_of(torch.full((3,), value), ((9.0, 0.0), (9.0, 0.0)))
    assert rate.estimate == value and (rate.low, rate.high) == (0.0, 1.0)


def test_a_spread_never_turns_the_interval_inside_out() -> None:
    rate = rate_of(torch.full((50,), 0.3), ((-1.0, 0.0), (-1.0, 0.0)))
    assert rate.low < 0.3 < rate.high


def test_intervals_hold_the_truth_where_probabilities_are_right() -> None:
    """Of 400 drawn sets about 95 % must hold their share, also small ones."""
    generator = torch.Generator().manual_seed(0)
    held = 0
    for _ in range(400):
        likely = torch.rand(60, generator=generator) ** 2
        true = (torch.rand(60, generator=generator) < likely).double().mean().item()
        rate = rate_of(likely, EXACT)
        held += rate.low <= true <= rate.high
    assert held / 400 > 0.92


def test_what_a_person_decided_is_certain() -> None:
    """Of ten images three are foreign for sure and three surely not; four are open with a chance of one half."""
    chances = torch.tensor([1.0] * 3 + [0.0] * 3 + [0.5] * 4)
    undecided = torch.tensor([False] * 6 + [True] * 4)
    wide = ((9.0, 0.0), (9.0, 0.0))
    assert rates.rate_of(chances, wide, undecided) == pytest.approx((0.5, 0.3, 0.7))
    alone = rate_of(chances[6:], EXACT)
    found = rates.rate_of(chances, EXACT, undecided)
    assert found == pytest.approx((0.5, 0.3 + 0.4 * alone.low, 0.3 + 0.4 * alone.high))
    assert rates.rate_of(chances[:6], wide, undecided[:6]) == (0.5, 0.5, 0.5)
