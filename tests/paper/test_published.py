"""The printed figures: how many there are, what they stand for, and whether they agree with one another."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from lond.detect import DETECTORS
from lond.evaluate.predictions import RANKINGS
from lond.methods import METHODS
from lond.paper import (
    DATA_SETS,
    MEAN,
    NOISE_NAMES,
    PUBLISHED,
    Cell,
    Published,
    published_of,
    table,
)

MISPRINTED = {("table2", "Ours")}
"""Printed averages that do not follow from the printed figures."""


def one(experiment: str, row: str, data: str, noise: str, metric: str) -> Published:
    found = [f for f in table(experiment) if (f.row, f.data, f.noise, f.metric) == (row, data, noise, metric)]
    assert len(found) == 1
    return found[0]


def test_every_table_is_complete() -> None:
    counts = {"table1": 10 * 6, "table2": 4 * 11, "table3": 12 * 4, "table4": 5 * 6}
    counts |= {"table6": 4 * 3, "table7": 4 * 2, "table8": 4 * 10}
    assert Counter(figure.experiment for figure in PUBLISHED) == counts
    assert len(PUBLISHED) == 242
    assert sum(figure.bold for figure in PUBLISHED) == 6 + 4 + 4 + 6 + 4 + 4 + 4
    assert sum(figure.is_mean for figure in PUBLISHED) == 11 + 12 + 2 * 5 + 3


def test_no_figure_is_there_twice() -> None:
    assert len({replace(figure, value=0.0, bold=False, notes=()) for figure in PUBLISHED}) == len(PUBLISHED)


def test_every_name_is_known() -> None:
    for figure in PUBLISHED:
        assert figure.method in METHODS
        assert figure.detector in {"", *DETECTORS}
        assert figure.data in {MEAN, *DATA_SETS}
        assert figure.noise in {"", MEAN, *NOISE_NAMES.values()}
        assert figure.metric in {"accuracy", MEAN, *RANKINGS}
        assert 0 < figure.value < 100


def over(figure: Published) -> str:
    """Return the field that an average runs over."""
    return next(name for name in ("data", "noise", "metric") if getattr(figure, name) == MEAN)


@pytest.mark.parametrize(
    "mean", [f for f in PUBLISHED if f.is_mean], ids=lambda f: f"{f.experiment}-{f.row}-{f.data}-{f.noise}-{f.metric}"
)
def test_printed_averages_follow_from_the_figures_they_are_of(mean: Published) -> None:
    field = over(mean)
    same = [name for name in ("row", "method", "detector", "data", "noise", "metric") if name != field]
    parts = [
        figure.value
        for figure in table(mean.experiment)
        if not figure.is_mean and all(getattr(figure, name) == getattr(mean, name) for name in same)
    ]
    assert len(parts) == (2 if field == "metric" else 3)
    agrees = abs(statistics.fmean(parts) - mean.value) < 0.0051
    assert agrees != ((mean.experiment, mean.row) in MISPRINTED)
    assert agrees or mean.notes


def test_figures_of_one_experiment_return_in_another() -> None:
    for noise in ("sym80", "asym40"):
        last = "(5).(4)+L_BCL"
        ours = one("table4", last, "cifar80n", noise, "accuracy").value
        assert ours == one("table1", "Ours", "cifar80n", noise, "accuracy").value
        score = one("table4", last, "cifar80n", noise, "auroc").value
        assert score == one("table2", "Ours", "cifar80n", noise, "auroc").value


def test_gains_that_the_text_states() -> None:
    def accuracy(row: str, data: str, noise: str) -> float:
        return one("table1", row, data, noise, "accuracy").value

    assert accuracy("Ours", "cifar100n", "sym80") - accuracy("CIR+", "cifar100n", "sym80") == pytest.approx(3.38)
    assert accuracy("Ours", "cifar80n", "asym40") - accuracy("NPN-hard", "cifar80n", "asym40") == pytest.approx(3.18)
    gains = [accuracy("Ours", "cifar80n", n) - accuracy("SED", "cifar80n", n) for n in ("sym20", "sym80", "asym40")]
    assert statistics.fmean(gains) == pytest.approx(4.55, abs=0.005)


def test_where_figures_come_from() -> None:
    assert {f.source for f in PUBLISHED if f.method == "lond-drs"} == {"own"}
    assert {f.row for f in table("table1") if f.source == "re-run"} == {"NGC", "CIR+", "NPN-hard"}
    assert one("table1", "NPN-hard", "cifar100n", "sym20", "accuracy").source == "copied"
    assert one("table1", "NPN-hard", "cifar80n", "sym20", "accuracy").source == "re-run"
    assert {f.source for f in table("table3") if f.row != "Ours"} == {"copied"}
    assert {f.source for f in table("table2") if f.row != "Ours"} == {"re-run"}


def test_what_is_printed_for_a_cell() -> None:
    cell = Cell("table4", "(2).Baseline", "cifar80n", "asym40", "lond-drs", "cifar80n-asym40", ("accuracy", "auroc"))
    assert published_of(cell) == {"accuracy": 66.15, "auroc": 71.16}
    assert published_of(replace(cell, experiment="figure3")) == {}


def test_reading_the_tables_loads_no_network() -> None:
    program = "import sys, lond.paper; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
