"""Figures of every experiment, from records made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper.reproduce.made import made_plan, same_for_all

from lond.paper import EXPERIMENTS, MEAN, SWEEPS
from lond.paper.reproduce.drawing import _common, _is_swept, draw_experiment
from lond.paper.reproduce.lines import Line, lines_of, score_of, sweep_scores, with_averages
from lond.paper.reproduce.maps import EmbeddingMap
from lond.results.batch import Outcome
from lond.types import FOREIGN

FIGURES = {"accuracy": 0.5, "auroc": 0.75, "label_accuracy": 0.9}
MAP = EmbeddingMap([(0.0, 1.0), (1.0, 2.0), (2.0, 0.0)], [0, 1, FOREIGN], "PCA")


@pytest.mark.parametrize(
    ("name", "cells", "stem"),
    [
        ("table1", ["sym80", "cifar80n"], "curves-cifar80n-sym80"),
        ("table2", ["sym80"], "curves-cifar80n-sym80"),
        ("figure1", [], "figure1"),
        ("figure3", ["sym80"], "figure3"),
        ("figure4", ["sym50", "sym80"], "figure4"),
        ("figure5", [], "figure5"),
        ("figure5", ["sym50"], "figure5"),
        ("figure6", [], "figure6"),
    ],
)
def test_both_formats_are_written(name: str, cells: list[str], stem: str, tmp_path: Path) -> None:
    plan = made_plan(name, "smoke", cells, [0, 1])
    outcome = same_for_all(plan, FIGURES)
    paths = draw_experiment(plan, outcome, lines_of(plan, outcome), {"SED": MAP, "Ours": MAP}, tmp_path)
    bars = ["figure1-bars.png", "figure1-bars.svg"] if name == "figure1" else []
    assert [path.name for path in paths] == [f"{stem}.png", f"{stem}.svg", *bars]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_nothing_is_drawn_from_nothing(tmp_path: Path) -> None:
    for name in EXPERIMENTS:
        assert draw_experiment(made_plan(name), Outcome(), [], {}, tmp_path) == []


def test_the_score_of_a_sweep_over_all_noises_by_hand() -> None:
    def both(row: str, noise: str, accuracy: float, auroc: float) -> list[Line]:
        shared = (row, "lond-drs", "", "cifar80n", noise)
        return [Line(*shared, "accuracy", "", {0: accuracy}), Line(*shared, "auroc", "", {0: auroc})]

    lines = [*both("K=3", "sym20", 70.0, 80.0), *both("K=3", "sym80", 40.0, 60.0), *both("K=4", "sym20", 72.0, 80.0)]
    found = {(line.row, line.noise): line.values for line in sweep_scores(lines)}
    # K=4 lacks one of the noises: a mean of the other alone would look better than it is.
    assert found == {("K=3", "sym20"): {0: 75.0}, ("K=3", "sym80"): {0: 50.0}, ("K=3", MEAN): {0: 62.5},
                     ("K=4", "sym20"): {0: 76.0}}  # fmt: skip
    assert all(line.metric == MEAN for line in sweep_scores(lines)) and sweep_scores([]) == []


def test_the_score_of_a_sweep_by_hand() -> None:
    shared = ("lond-drs", "", "cifar80n", "sym80")
    lines = [
        Line("K=3", *shared, "accuracy", "", {0: 40.0, 1: 50.0}),
        Line("K=3", *shared, "auroc", "", {1: 60.0, 0: 60.0}),
        Line("K=4", *shared, "accuracy", "", {0: 40.0}),
    ]
    lines = with_averages(lines, "figure4")
    score = score_of(lines, "K=3", "sym80")
    assert (score.n, score.mean, score.deviation) == (2, 52.5, pytest.approx(5 / 2**0.5))
    assert score_of(lines, "K=4", "sym80").mean is None
    assert score_of(lines, "K=3", "sym20").mean is None


def test_hyper_parameters_that_were_not_swept_have_no_panel(tmp_path: Path) -> None:
    plan = made_plan("figure3", "smoke", ["lambda_Con*", "sym80"], [0])
    outcome = same_for_all(plan, FIGURES)
    lines = lines_of(plan, outcome)
    assert [_is_swept(sweep, lines) for sweep in SWEEPS] == [sweep.symbol == "lambda_Con" for sweep in SWEEPS]
    assert draw_experiment(plan, outcome, lines, {}, tmp_path)


def test_pictures_say_what_they_show() -> None:
    plan = made_plan("table1", "mini")
    assert _common(plan, "cifar80n", "sym80") == "CIFAR80N, Sym-80%, scale mini"
    assert _common(plan) == "scale mini"
    assert _common(made_plan("figure5", "smoke")) == "CIFAR80N, Asym-40%, scale smoke"
