"""What an exported file says about itself."""

from __future__ import annotations

import json
from dataclasses import replace

from export.export_samples import trained

from lond.export import PredictionGraph
from lond.export.describe import describe


def test_all_that_a_program_needs_is_said_in_plain_values() -> None:
    run = trained().run
    graph = PredictionGraph(run)
    said = describe(run, graph, graph.output_names)
    assert json.loads(json.dumps(said)) == said
    assert said["classes"] == ["class0", "class1", "class2"] and said["method"] == "standard"
    assert (said["false_alarm_rate"], said["calibrated_on"], said["temperature"]) == (0.2, "these", 1.7)
    assert said["threshold"] == run.threshold and list(said["outputs"]) == graph.output_names
    assert said["input"]["name"] == "images"


def test_a_run_without_calibration() -> None:
    run = replace(trained().run, calibration=None)
    said = describe(run, PredictionGraph(run, 0.5), ["class"])
    assert (said["threshold"], said["false_alarm_rate"], said["temperature"]) == (0.5, None, 1.0)
