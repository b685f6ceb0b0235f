from __future__ import annotations

import numpy as np
import pytest
from benchmarks.made_up import small_world
from benchmarks.noise_bench.cells import make
from benchmarks.noise_bench.columns import (
    columns,
    columns_on_test,
    confidence_columns,
    corrected_columns,
    flag_quality,
    foreign_columns,
    rate_columns,
    wrong_columns,
)
from benchmarks.noise_bench.opinion import Opinion, Tested
from benchmarks.noise_bench.specs import PEOPLE_50, Spec

WRONG = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], dtype=bool)
FOREIGN = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0], dtype=bool)
CELL = make(Spec("small", "cifar", 10, 20, "uniform", 0.3, 0.1), small_world())


def pairs_ranked_right(score: np.ndarray, positive: np.ndarray) -> float:
    """Return the AUROC by counting pairs, ties as half."""
    pairs = [(a > b) + (a == b) / 2 for a in score[positive] for b in score[~positive]]
    return sum(pairs) / len(pairs)


def test_wrong_labels_are_ranked_among_all_and_among_known_images() -> None:
    score = np.array([9, 8, 1, 7, 5, 6, 6, 2, 1, 0, 3, 0.0])
    flag = score > 5
    found = wrong_columns(Opinion(wrong_score=score, wrong=flag), WRONG, FOREIGN)
    assert found["wrong_auroc"] == pytest.approx(pairs_ranked_right(score, WRONG))
    known = ~FOREIGN
    assert found["wrong_auroc_known"] == pytest.approx(pairs_ranked_right(score[known], WRONG[known]))
    assert (found["wrong_precision"], found["wrong_recall"]) == (3 / 5, 3 / 5)
    assert found["wrong_f1"] == pytest.approx(0.6) and found["wrong_f1_known"] == pytest.approx(2 * 3 / (3 + 5))
    assert found["flagged"] == found["doubted"] == 5 / 12


def test_calling_a_known_image_foreign_counts_as_doubt() -> None:
    nothing = np.zeros(12, dtype=bool)
    said = Opinion(wrong_score=np.arange(12.0), wrong=nothing, known_doubt=WRONG, known_score=WRONG.astype(float))
    found = wrong_columns(said, WRONG, FOREIGN)
    assert found["wrong_f1"] == 0 and found["wrong_f1_known"] == 1 and found["wrong_auroc_known"] == 1
    assert found["wrong_precision"] is None


def test_foreign_images_are_ranked_and_average_precision_is_the_mean_over_hits() -> None:
    score = np.array([0, 0, 0, 0, 8, 9, 7, 6, 5, 4, 0, 0.0])
    found = foreign_columns(Opinion(foreign_score=score, foreign=score > 6.5), FOREIGN)
    assert found["foreign_ap"] == pytest.approx(np.mean([1 / 1, 2 / 3, 3 / 4, 4 / 5, 5 / 6]))
    assert found["foreign_auroc"] == pytest.approx(pairs_ranked_right(score, FOREIGN))
    assert found["called_foreign"] == 3 and found["foreign_precision"] == pytest.approx(2 / 3)


def test_nothing_is_divided_by_nothing() -> None:
    nothing = np.zeros(4, dtype=bool)
    assert flag_quality(nothing, nothing) == {"f1": None, "precision": None, "recall": None}


def test_intervals_hold_or_do_not() -> None:
    found = rate_columns({"wrong": (0.1, 0.05, 0.2), "either": (0.1, 0.05, 0.2)}, 0.2, 0.1)
    assert found["rate_wrong_holds"] is True and found["rate_either_holds"] is False


def test_confidences_are_counted_by_class() -> None:
    said = Opinion(suggested=np.array([1, 2, 3, 4]), confidence=np.array([0.6, 0.7, 0.95, np.nan]))
    found = confidence_columns(said, np.array([1, 0, 3, 4]))
    assert found == {"confidence_50-70": [2, 0.5, pytest.approx(0.65)], "confidence_90-100": [1, 1.0, 0.95]}


def test_test_images_give_accuracy_of_known_and_alarms() -> None:
    foreign = CELL.test_true < 0
    perfect = Tested(np.where(foreign, 0, CELL.test_true), foreign.astype(float), foreign)
    found = columns_on_test(CELL, Opinion(tested=perfect))
    assert found == {"test_accuracy": 1.0, "false_alarms": 0.0, "test_auroc": 1.0, "test_caught": 1.0}


def test_the_true_labels_as_a_corrected_set_give_the_probe_of_true_labels() -> None:
    found = corrected_columns(CELL, Opinion(labels=CELL.true, kept=CELL.true >= 0))
    assert found["probe_corrected"] == found["probe_true"] >= found["probe_given"]
    untouched = corrected_columns(CELL, Opinion(labels=CELL.given, kept=np.ones(len(CELL.given), dtype=bool)))
    assert untouched["probe_corrected"] == untouched["probe_given"]
    assert untouched["left_out"] == untouched["relabelled"] == 0


def test_a_half_scored_cell_has_no_rates_and_no_test_figures() -> None:
    cell = make(PEOPLE_50, small_world())
    everything = np.ones(len(cell.given), dtype=bool)
    score = np.arange(len(cell.given), dtype=float)
    said = Opinion(wrong_score=score, wrong=everything, labels=cell.given, kept=everything, rates={"wrong": (0, 0, 1)})
    found = columns(cell, said)
    assert found["scored"] == cell.scored.sum() < len(cell.given)
    assert "rate_wrong" not in found and "probe_given" not in found
    wrong = ((cell.true >= 0) & (cell.true != cell.given))[cell.scored]
    assert found["wrong_auroc"] == pytest.approx(pairs_ranked_right(score[cell.scored], wrong))
