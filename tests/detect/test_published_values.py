"""The defaults of detectors are those of OpenOOD and of the papers, in the functions and in the classes alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from lond.detect import EBO, KNN, MDS, OpenMax, RankFeat, ReAct, TempScaling
from lond.detect.ebo import ebo_score
from lond.detect.knn import knn_score
from lond.detect.mds import whitener
from lond.detect.openmax import SHIFT, fit_openmax, openmax_score
from lond.detect.rankfeat import rankfeat_score
from lond.detect.react import clip_level
from lond.detect.temp_scaling import best_temperature, fit_temperature

LBFGS = {"start": 1.5, "learning_rate": 0.01, "iterations": 50}
VALUES: list[tuple[Callable[..., Any], dict[str, object]]] = [
    (KNN, {"k": 50}),
    (knn_score, {"k": 50}),
    (MDS, {"eigen_cutoff": 1e-10}),
    (whitener, {"eigen_cutoff": 1e-10}),
    (OpenMax, {"alpha": 3, "tail_size": 20}),
    (fit_openmax, {"tail_size": 20}),
    (openmax_score, {"alpha": 3}),
    (RankFeat, {"temperature": 1.0, "power_iterations": None}),
    (rankfeat_score, {"temperature": 1.0}),
    (EBO, {"temperature": 1.0}),
    (ebo_score, {"temperature": 1.0}),
    (TempScaling, LBFGS),
    (fit_temperature, LBFGS),
    (best_temperature, {"lowest": 0.05, "highest": 20.0}),
    (ReAct, {"percentile": 90.0}),
    (clip_level, {"percentile": 90.0}),
]


@pytest.mark.parametrize(("what", "values"), VALUES, ids=lambda value: getattr(value, "__name__", ""))
def test_defaults(what: Callable[..., Any], values: dict[str, object]) -> None:
    found = {name: parameter.default for name, parameter in inspect.signature(what).parameters.items()}
    assert {name: found[name] for name in values} == values


def test_distances_are_shifted_as_libmr_does() -> None:
    assert SHIFT == 10_000


def test_the_smallest_settings_that_mean_something() -> None:
    assert (OpenMax(alpha=1, tail_size=2).alpha, RankFeat(power_iterations=1).power_iterations) == (1, 1)
    assert KNN(k=1).k == 1
