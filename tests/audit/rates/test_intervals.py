"""Intervals: by hand, against other implementations, and how often they hold the truth."""

import numpy as np
import pytest
from scipy import stats

from lond.audit.rates.intervals import Estimate, choose_cutoff, excess_of_small, likeliest, mixed_in_rate, wilson


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_sound(found: Estimate | None) -> Estimate:
    assert found is not None
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    return found


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (1, 1, 0.2065, 1.0),
        (15, 148, 0.0624, 0.1605),
    ],
)
def test_wilson_by_hand(hits: int, count: int, low: float, high: float) -> None:
    found = assert_sound(wilson(hits, count))
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    assert found.estimate == hits / count
    expected = stats.binomtest(hits, count).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_wilson_of_nothing_and_at_other_levels() -> None:
    assert wilson(0, 0) is None
    narrow, wide = assert_sound(wilson(3, 10, 0.5)), assert_sound(wilson(3, 10, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
    assert assert_sound(wilson(2.5, 10)).estimate == 0.25


def test_excess_by_hand() -> None:
    p_values = np.array([0.01] * 40 + [0.3] * 30 + [0.8] * 30)
    found = assert_sound(excess_of_small(p_values, np.full(100, 0.5), rng()))
    assert found.estimate == pytest.approx(1 - 0.3 / 0.5)
    low, high = 1 - stats.beta(30.5, 70.5).ppf([0.975, 0.025]) / 0.5
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)
    halves = np.where(np.arange(100) % 2, 0.5, 0.25)
    mixed = assert_sound(excess_of_small(p_values, halves, rng()))
    assert mixed.estimate == pytest.approx(1 - (0.5 * 0.3 / 0.5 + 0.5 * 0.6 / 0.75))


def test_few_p_values_give_wide_intervals_and_none_nothing() -> None:
    assert excess_of_small(np.array([]), np.array([]), rng()) is None
    for value in (0.001, 0.999):
        found = assert_sound(excess_of_small(np.array([value]), np.array([0.5]), rng()))
        assert found.high - found.low > 0.5


def test_all_large_p_values_mean_nothing_foreign() -> None:
    found = assert_sound(excess_of_small(np.ones(100), np.full(100, 0.5), rng()))
    assert found.estimate == found.low == 0


def test_few_calibration_images_widen_the_interval() -> None:
    p_values = rng().uniform(size=1000) ** 1.5
    cutoffs = np.full(1000, 0.5)
    widths = []
    for calibration in (None, 1000, 20, 1):
        found = assert_sound(excess_of_small(p_values, cutoffs, rng(), calibration=calibration))
        widths.append(found.high - found.low)
    assert widths == sorted(widths) and widths[2] > 2 * widths[0]


def test_cutoff_is_low_for_clear_cases_and_higher_for_blurred_ones() -> None:
    assert choose_cutoff(np.array([])) == 0.5
    known = rng().uniform(size=4000)
    clear = choose_cutoff(np.concatenate([known, np.full(1000, 0.01)]))
    blurred = choose_cutoff(np.concatenate([known, rng(1).uniform(size=1000) * 0.5]))
    assert 0.05 <= clear < blurred <= 0.5


@pytest.mark.parametrize(("count", "rate"), [(40, 0.2), (400, 0.1), (400, 0.0)])
def test_excess_holds_the_truth_about_as_often_as_it_says(count: int, rate: float) -> None:
    holds, estimates = 0, []
    for seed in range(100):
        draw = rng(seed)
        foreign = draw.binomial(count, rate)
        p_values = np.concatenate([draw.uniform(size=count - foreign), draw.uniform(size=foreign) * 0.1])
        found = assert_sound(excess_of_small(p_values, np.full(count, 0.2), draw))
        holds += found.low <= rate <= found.high
        estimates.append(found.estimate)
    assert holds >= 88
    # An estimate below zero is raised to zero, so a small rate is met from above.
    assert np.mean(estimates) == pytest.approx(rate, abs=0.03)


def mixed(classes: int, rate: float, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return calibrated probabilities, true labels and given labels of which a share is replaced at random."""
    draw = rng(seed)
    odds = np.exp(4 * draw.normal(size=(count, classes)))
    table = odds / odds.sum(axis=1, keepdims=True)
    true = (table.cumsum(axis=1) > draw.uniform(size=(count, 1))).argmax(axis=1)
    other = (true + draw.integers(1, classes, size=count)) % classes
    return table, true, np.where(draw.uniform(size=count) < rate, other, true)


def densities(table: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the densities of images of the class and of all others, if all classes are equally frequent."""
    own = table[np.arange(len(given)), given]
    return own * table.shape[1], (1 - own) * table.shape[1] / (table.shape[1] - 1)


@pytest.mark.parametrize(("classes", "rate", "count"), [(2, 0.2, 300), (10, 0.3, 50), (10, 0.0, 300), (100, 0.1, 300)])
def test_mixed_in_rate_holds_the_truth_about_as_often_as_it_says(classes: int, rate: float, count: int) -> None:
    holds, estimates = 0, []
    for seed in range(50):
        table, _, given = mixed(classes, rate, count, seed)
        found = assert_sound(mixed_in_rate(*densities(table, given)))
        holds += found.low <= rate <= found.high
        estimates.append(found.estimate)
    assert holds >= 43
    assert np.mean(estimates) == pytest.approx(rate, abs=0.04)


def test_mixed_in_rate_is_the_most_likely_one() -> None:
    table, _, given = mixed(5, 0.25, 400, 1)
    right, wrong = densities(table, given)
    rates = np.linspace(0.001, 0.999, 999)
    likelihood = [np.log((1 - r) * right + r * wrong).sum() for r in rates]
    assert assert_sound(mixed_in_rate(right, wrong)).estimate == pytest.approx(rates[np.argmax(likelihood)], abs=0.004)


def test_mixed_in_rate_at_the_edges() -> None:
    assert mixed_in_rate(np.array([]), np.array([])) is None
    for value in (0.0, 1.0):
        found = assert_sound(mixed_in_rate(np.array([value]), np.array([1 - value])))
        assert found.estimate == 1 - value and found.high - found.low > 0.7
    ones, zeros = np.ones(1000), np.zeros(1000)
    assert assert_sound(mixed_in_rate(ones, zeros)).high < 0.01
    assert assert_sound(mixed_in_rate(zeros, ones)).low > 0.98


def test_likeliest_by_hand() -> None:
    values = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    assert likeliest(values, np.array([1.0, 4.0, 3.0, 1.5, 0.5]), level=0.6) == Estimate(0.1, 0.1, 0.2)
    assert likeliest(values, np.array([1.0, 4.0, 3.0, 1.5, 0.5]), level=0.8) == Estimate(0.1, 0.1, 0.3)
    # An end that is the likeliest belongs to the interval.
    assert likeliest(values, np.array([5.0, 3.0, 1.0, 0.5, 0.5]), level=0.9) == Estimate(0.0, 0.0, 0.2)
    assert likeliest(np.array([0.3]), np.array([1.0])) == Estimate(0.3, 0.3, 0.3)
