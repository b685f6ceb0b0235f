"""Description of an exported file: classes, input, outputs and threshold, as plain values."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from lond.export.graph import CLASS, FOREIGN, P_VALUE, PROBABILITIES, SCORE, PredictionGraph
from lond.runs import LoadedRun

FORMAT = 1
"""Version of the description."""

LABEL, VERDICT = "label", "verdict"
"""Outputs of text."""

MEANINGS = {
    CLASS: "int64 (batch,): position of the most likely known class in classes",
    PROBABILITIES: "float32 (batch, classes): calibrated probability of every known class",
    SCORE: "float32 (batch,): larger = more foreign",
    P_VALUE: "float32 (batch,): share of known calibration images that score at least as high",
    FOREIGN: "bool (batch,): whether the score exceeds the threshold",
    LABEL: "string (batch,): name of the most likely known class",
    VERDICT: "string (batch,): known or foreign",
}
"""Output -> type, shape and meaning."""


def describe(run: LoadedRun, graph: PredictionGraph, outputs: list[str]) -> dict[str, Any]:
    """Return what a program needs to know to use an exported run."""
    calibration = run.calibration
    return {
        "format": FORMAT,
        "lond": version("lond"),
        "method": run.config.method,
        "classes": list(run.shape.class_names),
        "input": graph.takes.describe(),
        "outputs": {name: MEANINGS[name] for name in outputs},
        "threshold": graph.threshold,
        "false_alarm_rate": None if calibration is None else calibration.false_alarm_rate,
        "calibrated_on": None if calibration is None else calibration.source,
        "temperature": graph.temperature,
        "detector": str(run.detector),
    }
