"""Threshold, p-value and temperature from known samples: refusals, coverage, round trip, and the rows they end in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from methods.tiny import tiny_samples
from scipy.stats import binom
from torch import Tensor

from lond.config import RunConfig
from lond.errors import DataError
from lond.evaluate import expected_calibration_error
from lond.runs import LoadedRun, prediction_rows, shape_of
from lond.runs.calibration import (
    CALIBRATION,
    Calibration,
    calibrate,
    calibrate_scores,
    load_calibration,
    save_calibration,
    tempered,
)
from lond.types import Prediction, Samples

RATES = [0.01, 0.05, 0.1]


def overconfident(count: int = 2000, classes: int = 4, sharpness: float = 4.0, seed: int = 0) -> tuple[Any, Tensor]:
    """Return a prediction whose logits are too large by ``sharpness``, and labels drawn from the honest ones."""
    random = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(count, classes, generator=random)
    labels = torch.multinomial(logits.softmax(dim=1), 1, generator=random).squeeze(1)
    probabilities = (sharpness * logits).softmax(dim=1)
    scores = torch.rand(count, generator=random)
    return Prediction(probabilities, scores, torch.zeros(count, 1), sharpness * logits), labels


def loaded(samples: Samples, calibration: Calibration | None) -> LoadedRun:
    """Return a run that has a calibration, and nothing that predicts."""
    return LoadedRun(RunConfig(), shape_of(samples), None, None, calibration)  # type: ignore[arg-type]


def said(scores: Tensor, classes: int = 3) -> Prediction:
    random = torch.Generator().manual_seed(1)
    logits = torch.randn(len(scores), classes, generator=random)
    return Prediction(logits.softmax(dim=1), scores, torch.zeros(len(scores), 1), logits)


# What is refused, and what is left out


def test_nothing_to_calibrate_on_is_refused() -> None:
    prediction, _ = overconfident(30)
    with pytest.raises(DataError, match="shelf holds no known images"):
        calibrate(prediction, torch.full((30,), -1), 0.05, "shelf")
    empty = Prediction(torch.empty(0, 3), torch.empty(0), torch.empty(0, 1), torch.empty(0, 3))
    with pytest.raises(DataError, match="shelf holds no known images"):
        calibrate(empty, torch.empty(0, dtype=torch.long), 0.05, "shelf")


@pytest.mark.parametrize("others", [-1, -2], ids=["foreign", "unlabelled"])
def test_one_class_is_refused(others: int) -> None:
    prediction, _ = overconfident(60)
    labels = torch.tensor([2] * 50 + [others] * 10)
    with pytest.raises(DataError, match="shelf holds images of one class only"):
        calibrate(prediction, labels, 0.05, "shelf")


@pytest.mark.parametrize(("rate", "needed"), [(0.01, 99), (0.05, 19), (0.1, 9)])
def test_too_few_for_the_rate_are_refused(rate: float, needed: int) -> None:
    prediction, labels = overconfident(needed)
    assert len(calibrate(prediction, labels, rate, "shelf").known_scores) == needed
    labels[0] = -1
    with pytest.raises(DataError, match=f"needs at least {needed} known samples, there are {needed - 1}"):
        calibrate(prediction, labels, rate, "shelf")


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 1.5])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    prediction, labels = overconfident(100)
    with pytest.raises(DataError, match="between 0 and 1"):
        calibrate(prediction, labels, rate, "shelf")


def test_scores_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match="not finite"):
        calibrate_scores(torch.tensor([0.1] * 30 + [torch.nan]), 0.05, "shelf")


def test_unlabelled_images_give_a_threshold_without_a_temperature() -> None:
    prediction, _ = overconfident(100)
    calibration = calibrate(prediction, torch.full((100,), -2), 0.05, "shelf")
    assert calibration.threshold == float(prediction.scores.sort().values[95])
    assert (calibration.temperature, calibration.ece_before, calibration.ece_after) == (1.0, None, None)
    assert torch.allclose(calibration.probabilities(prediction), prediction.probabilities, atol=1e-6)


def test_foreign_rows_play_no_part() -> None:
    prediction, labels = overconfident(300)
    kept = torch.arange(300) % 3 > 0
    labels[~kept] = -1
    prediction.scores[~kept] += 10
    few = Prediction(*(value[kept] for value in vars(prediction).values()))
    whole, part = calibrate(prediction, labels, 0.1, "shelf"), calibrate(few, labels[kept], 0.1, "shelf")
    assert torch.equal(whole.known_scores, part.known_scores)
    assert vars(whole) | {"known_scores": 0} == vars(part) | {"known_scores": 0}


# Temperature


@pytest.mark.parametrize("sharpness", [4.0, 0.3])
def test_the_temperature_undoes_miscalibration(sharpness: float) -> None:
    prediction, labels = overconfident(sharpness=sharpness)
    calibration = calibrate(prediction, labels, 0.05, "shelf")
    assert calibration.temperature == pytest.approx(sharpness, rel=0.15)
    assert calibration.ece_before is not None
    assert calibration.ece_after is not None
    assert calibration.ece_after <= 0.5 * calibration.ece_before
    fresh, truth = overconfident(sharpness=sharpness, seed=1)
    before = expected_calibration_error(fresh.probabilities, truth)
    assert expected_calibration_error(calibration.probabilities(fresh), truth) <= 0.5 * before


def test_tempering_is_a_softmax_of_divided_logits_and_keeps_the_class() -> None:
    logits = 5 * torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
    for temperature in (0.05, 0.5, 1.0, 3.0, 20.0):
        probabilities = tempered(logits.softmax(dim=1), temperature)
        assert torch.allclose(probabilities, (logits / temperature).softmax(dim=1), atol=1e-4)
        assert torch.equal(probabilities.argmax(dim=1), logits.argmax(dim=1))
    # A probability that has underflowed is no reason for a NaN.
    assert tempered(torch.tensor([[1.0, 0.0, 0.0]]), 20.0).isfinite().all()


# Threshold and p-value


@pytest.mark.parametrize("rate", RATES)
def test_false_alarms_are_as_frequent_as_chosen(rate: float) -> None:
    """One new image for each of many calibrations: the alarms are binomial with just the chosen rate."""
    trials, known = 4000, 99
    random = torch.Generator().manual_seed(7)
    # Whatever the distribution: here heavy-tailed, and another one for each calibration.
    scores = torch.randn(trials, known + 1, generator=random).exp() * torch.rand(trials, 1, generator=random)
    alarms = 0
    for row in scores:
        alarms += int(row[-1] > calibrate_scores(row[:-1], rate, "known").threshold)
    low, high = binom.interval(0.99, trials, rate)
    assert low <= alarms <= high


@pytest.mark.parametrize("rate", RATES)
def test_one_large_calibration_holds_for_many_images(rate: float) -> None:
    random = torch.Generator().manual_seed(11)
    calibration = calibrate_scores(torch.randn(400_000, generator=random), rate, "known")
    fresh = torch.randn(40_000, generator=random)
    low, high = binom.interval(0.99, len(fresh), rate)
    assert low <= int((fresh > calibration.threshold).sum()) <= high
    assert low <= int((calibration.p_values(fresh) <= rate).sum()) <= high


@pytest.mark.parametrize("rate", [*RATES, 0.3, 0.0123])
@pytest.mark.parametrize("known", [19, 99, 100, 1234])
@pytest.mark.parametrize("levels", [None, 20], ids=["distinct", "ties"])
def test_a_small_p_value_says_foreign_and_nothing_else_does(rate: float, known: int, levels: int | None) -> None:
    random = torch.Generator().manual_seed(known)
    known_scores, scores = torch.rand(known, generator=random), 1.2 * torch.rand(500, generator=random)
    if levels:
        known_scores, scores = ((levels * s).round() / levels for s in (known_scores, scores))
    scores[:19] = known_scores[:19]
    if known * rate < 1 - rate - 1e-9:
        with pytest.raises(DataError, match="needs at least"):
            calibrate_scores(known_scores, rate, "known")
        return
    samples = tiny_samples(500)
    table = prediction_rows(loaded(samples, calibrate_scores(known_scores, rate, "known")), samples, said(scores))
    by_p_value = [float(row["p_value"]) <= rate for row in table.rows]
    assert by_p_value == [row["verdict"] == "foreign" for row in table.rows]
    assert any(by_p_value)
    assert not all(by_p_value)


def test_p_value_by_hand() -> None:
    calibration = calibrate_scores(torch.tensor([0.4, 0.1, 0.2, 0.3]), 0.3, "known")
    assert calibration.known_scores.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert calibration.threshold == pytest.approx(0.4)
    scores = torch.tensor([0.0, 0.2, 0.25, 0.4, 0.5])
    assert calibration.p_values(scores).tolist() == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])


# Rows


def test_rows_use_threshold_p_value_and_temperature() -> None:
    samples, scores = tiny_samples(40), torch.linspace(0, 1, 40)
    prediction = said(scores)
    calibration = Calibration(0.5, 0.1, torch.linspace(0, 0.6, 99), "shelf", temperature=3.0)
    rows = prediction_rows(loaded(samples, calibration), samples, prediction).rows
    expected = tempered(prediction.probabilities, 3.0).max(dim=1)
    assert [float(row["probability"]) for row in rows] == pytest.approx(expected.values.tolist(), rel=1e-5)
    assert [row["class"] for row in rows] == [f"class{c}" for c in prediction.probabilities.argmax(dim=1).tolist()]
    assert [float(row["p_value"]) for row in rows] == pytest.approx(calibration.p_values(scores).tolist(), rel=1e-5)
    assert [row["verdict"] for row in rows] == ["foreign" if s > 0.5 else "known" for s in scores.tolist()]
    own = prediction_rows(loaded(samples, calibration), samples, prediction, threshold=0.9).rows
    assert [row["verdict"] for row in own] == ["foreign" if s > 0.9 else "known" for s in scores.tolist()]
    assert [row["p_value"] for row in own] == [row["p_value"] for row in rows]


def test_rows_without_a_decision_have_no_p_value() -> None:
    samples, prediction = tiny_samples(20), said(torch.linspace(0, 1, 20))
    with pytest.raises(DataError, match="--threshold"):
        prediction_rows(loaded(samples, None), samples, prediction)
    rows = prediction_rows(loaded(samples, None), samples, prediction, threshold=0.5).rows
    assert {row["p_value"] for row in rows} == {""}
    best = prediction.probabilities.amax(dim=1)
    assert [float(row["probability"]) for row in rows] == pytest.approx(best.tolist(), rel=1e-5)


# Storage


@pytest.mark.parametrize("labelled", [True, False])
def test_round_trip(tmp_path: Path, labelled: bool) -> None:
    assert load_calibration(tmp_path) is None
    prediction, labels = overconfident(100)
    calibration = calibrate(prediction, labels if labelled else torch.full((100,), -2), 0.05, "a shelf [of] »Bücher«")
    save_calibration(tmp_path, calibration)
    again = load_calibration(tmp_path)
    assert again is not None
    assert torch.equal(again.known_scores, calibration.known_scores)
    assert vars(again) | {"known_scores": 0} == vars(calibration) | {"known_scores": 0}
    save_calibration(tmp_path, calibrate_scores(prediction.scores, 0.2, "another"))
    replaced = load_calibration(tmp_path)
    assert replaced is not None
    assert (replaced.source, replaced.false_alarm_rate) == ("another", 0.2)
    (tmp_path / CALIBRATION).write_bytes(b"half")
    with pytest.raises(DataError, match=rf"{CALIBRATION} is damaged"):
        load_calibration(tmp_path)
