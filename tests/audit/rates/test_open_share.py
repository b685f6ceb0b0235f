"""The share of foreign images from agreement that is missing."""

from __future__ import annotations

import numpy as np
import pytest

from lond.audit.rates.open_share import missing_agreement


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_by_hand() -> None:
    # 80 of 100 known images would agree, 10 by chance; 45 do: half of them are known.
    agrees = np.arange(100) < 45
    found = missing_agreement(agrees, np.full(100, 0.8), np.full(100, 0.1), np.zeros(1), 10, rng())
    assert found is not None
    assert found.estimate == pytest.approx(1 - (0.45 - 0.1) / (0.8 - 0.1))
    assert 0.3 < found.low < 0.5 < found.high < 0.7


def simulate(count: int, rate: float, share: float, seed: int, classes: int = 10) -> tuple[np.ndarray, ...]:
    """Return agreement, confidence and order of images, a share of them foreign; hard images look a little foreign."""
    draw = rng(seed)
    odds = np.exp(2 * draw.normal(size=(count, classes)))
    table = odds / odds.sum(axis=1, keepdims=True)
    true = (table.cumsum(axis=1) > draw.uniform(size=(count, 1))).argmax(axis=1)
    label = np.where(draw.uniform(size=count) < rate, (true + draw.integers(1, classes, size=count)) % classes, true)
    foreign = draw.uniform(size=count) < share
    label = np.where(foreign, draw.integers(0, classes, size=count), label)
    confidence = table.max(axis=1)
    order = np.argsort(confidence - foreign + draw.normal(size=count))
    return (table.argmax(axis=1) == label)[order], confidence[order]


@pytest.mark.parametrize(("rate", "share"), [(0.0, 0.0), (0.3, 0.2), (0.2, 0.5), (0.5, 0.1)])
def test_simulated_shares_are_found(rate: float, share: float) -> None:
    holds, estimates = 0, []
    for seed in range(40):
        agrees, confidence = simulate(2000, rate, share, seed)
        found = missing_agreement(agrees, confidence, np.full(2000, 0.1), np.array([rate]), 10, rng(seed))
        assert found is not None
        holds += found.low <= share <= found.high
        estimates.append(found.estimate)
    assert holds >= 34
    assert np.mean(estimates) == pytest.approx(share, abs=0.03)


def test_doubt_about_the_rate_widens_the_interval() -> None:
    agrees, confidence = simulate(2000, 0.3, 0.2, 0)
    sure, unsure = (
        missing_agreement(agrees, confidence, np.full(2000, 0.1), rates, 10, rng())
        for rates in (np.array([0.3]), np.concatenate([[0.3], np.linspace(0.1, 0.5, 99)]))
    )
    assert sure is not None and unsure is not None
    assert sure.estimate == unsure.estimate
    assert unsure.high - unsure.low > 1.5 * (sure.high - sure.low)


def test_hard_groups_join_easier_ones() -> None:
    # The first hundred tell nothing alone: known images would agree no more often than by chance.
    confidence = np.repeat([0.5, 1.0], 100)
    agrees = np.concatenate([np.arange(100) % 2 == 0, np.ones(100)]).astype(bool)
    found = missing_agreement(agrees, confidence, np.full(200, 0.5), np.zeros(1), 2, rng())
    assert found is not None and found.estimate == 0


@pytest.mark.parametrize("lean", [-1.0, 1.0])
def test_foreign_images_may_be_surer_or_less_sure(lean: float) -> None:
    """Foreign images beside known ones in the order, but of another confidence."""
    draw, count = rng(5), 20_000
    foreign = draw.uniform(size=count) < 0.2
    confidence = np.clip(0.7 + 0.25 * draw.normal(size=count) * 0.5 + 0.15 * lean * foreign, 0.15, 0.99)
    agrees = draw.uniform(size=count) < np.where(foreign, 0.1, confidence)
    found = missing_agreement(agrees, confidence, np.full(count, 0.1), np.zeros(1), 10, rng())
    assert found is not None
    assert found.estimate == pytest.approx(0.2, abs=0.02)


def test_where_nothing_can_be_told() -> None:
    nothing = np.zeros(0)
    assert missing_agreement(nothing.astype(bool), nothing, nothing, np.zeros(1), 3, rng()) is None
    one = np.ones(5)
    assert missing_agreement(one.astype(bool), one, one, np.zeros(1), 1, rng()) is None
    assert missing_agreement(one.astype(bool), one / 2, one / 2, np.zeros(1), 2, rng()) is None
