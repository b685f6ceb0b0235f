"""Means, deviations, differences and averages against values computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from paper.reproduce.made import made_plan, made_record, same_for_all

from lond.detect import DETECTORS
from lond.paper import Published
from lond.paper.names import DETECTOR_NAMES
from lond.paper.reproduce.lines import FITTED_CLEAN, FITTED_TWICE, Line, averages, lines_of, value_of
from lond.results.batch import Outcome
from lond.results.records import DetectorRecord

LINE = Line("Ours", "lond-drs", "", "cifar80n", "sym80", "accuracy", "", {0: 49.0, 1: 51.0, 2: 53.0}, 49.3, True)


def test_mean_deviation_and_difference() -> None:
    summary = LINE.summary
    assert (summary.n, summary.mean, summary.deviation) == (3, 51.0, 2.0)
    assert LINE.delta == pytest.approx(1.7)
    assert replace(LINE, comparable=False).delta is None
    assert replace(LINE, published=None).delta is None
    empty = replace(LINE, values={})
    assert (empty.summary.n, empty.summary.mean, empty.delta) == (0, None, None)
    assert replace(LINE, values={4: 50.0}).summary.deviation is None


def test_figures_of_a_plan_over_seeds() -> None:
    plan = made_plan("table4", "full", ["(5)*"], seeds=[0, 1])
    records = {
        run: made_record({"accuracy": 0.5 + 0.02 * run.seed, "auroc": 0.6 + 0.04 * run.seed}, run.seed)
        for run in plan.runs
    }
    lines = {(line.noise, line.metric): line for line in lines_of(plan, Outcome(records))}
    assert lines["sym80", "accuracy"].values == pytest.approx({0: 50.0, 1: 52.0})
    assert lines["sym80", "accuracy"].published == 49.30
    assert lines["sym80", "accuracy"].delta == pytest.approx(51.0 - 49.30)
    assert lines["sym80", "auroc"].summary.deviation == pytest.approx(4 / 2**0.5)
    average = lines["sym80", "mean"]
    assert average.values == pytest.approx({0: 55.0, 1: 58.0})
    assert average.published == 56.56
    assert average.delta == pytest.approx(56.5 - 56.56)


def test_averages_need_all_their_parts() -> None:
    lines = lines_of(plan := made_plan("table3", "full"), same_for_all(plan, {"accuracy": 0.25}))
    means = [line for line in lines if line.data == "mean"]
    assert [line.row for line in means] == list(dict.fromkeys(line.row for line in lines))
    assert all(line.summary.mean == pytest.approx(25.0) for line in means)
    assert means[-1].published == 86.77
    some = lines_of(plan := made_plan("table3", "full", ["web-car"]), same_for_all(plan, {"accuracy": 0.25}))
    assert not [line for line in some if line.data == "mean"]


def test_an_average_is_over_the_seeds_that_all_parts_have() -> None:
    printed = [
        Published("table2", "Ours", "lond-drs", "cifar80n", noise, "auroc", 50.0)
        for noise in ("sym20", "sym80", "mean")
    ]
    parts = [
        replace(LINE, metric="auroc", noise="sym20", values={0: 60.0, 1: 70.0}),
        replace(LINE, metric="auroc", noise="sym80", values={1: 50.0, 2: 10.0}),
    ]
    (average,) = averages(parts, printed)
    assert (average.noise, average.values, average.delta) == ("mean", {1: 60.0}, 10.0)


def test_both_readings_of_a_detector() -> None:
    plan = made_plan("table2", "smoke", ["MDS", "TempScaling", "MSP", "sym80"])
    detectors = [
        DetectorRecord("mds", "all", {"auroc": 0.4}),
        DetectorRecord("mds", "clean", {"auroc": 0.45}),
        DetectorRecord("temp-scaling", "clean", {"auroc": 0.6}),
        DetectorRecord("msp", "-", {"auroc": None}),
    ]
    (run,) = plan.runs
    lines = lines_of(plan, Outcome({run: made_record({"auroc": 0.9}, detectors=detectors)}))
    found = {(line.row, line.reading): line.summary.mean for line in lines}
    assert found == {
        ("MDS", ""): pytest.approx(40.0),
        ("MDS", FITTED_CLEAN): pytest.approx(45.0),
        ("TempScaling", ""): pytest.approx(60.0),
        ("MSP", ""): None,
    }
    assert all(line.delta is None for line in lines)


def test_a_record_without_the_detector_has_no_figure() -> None:
    (cell,) = made_plan("table2", cells=["MDS", "sym80"]).cells
    assert value_of(made_record({"auroc": 0.9}), cell, "auroc") is None


def test_the_papers_detectors_that_are_fitted_twice_are_those_of_the_runs() -> None:
    fitted = {name for name in DETECTOR_NAMES.values() if DETECTORS[name].fits_on == "training"}
    assert set(FITTED_TWICE) == fitted
