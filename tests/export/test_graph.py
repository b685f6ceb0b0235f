"""The graph gives what a prediction says, for every method, and ``torch.export`` takes it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from export.export_samples import FRESH, input_of, trained

from lond.errors import DataError
from lond.export import PredictionGraph
from lond.export.write import exported_program
from lond.methods import METHODS


@pytest.mark.parametrize("name", METHODS)
def test_torch_export_takes_every_method(name: str) -> None:
    run = trained(name).run
    graph = PredictionGraph(run)
    images, program = input_of(run), exported_program(PredictionGraph(run)).module()
    for rows in (1, 13):
        found, expected = program(images[:rows]), graph(images[:rows])
        assert list(found) == graph.output_names == ["class", "probabilities", "foreign_score", "p_value", "foreign"]
        for key, value in expected.items():
            assert torch.allclose(found[key].double(), value.double(), atol=1e-6), key


@pytest.mark.parametrize("name", ["standard", "lond-drs", "ngc", "dividemix"])
def test_it_is_what_lond_predict_writes(name: str) -> None:
    run = trained(name).run
    prediction, calibration = run.predict(FRESH), run.calibration
    assert calibration is not None
    found = PredictionGraph(run)(input_of(run))
    assert found["class"].tolist() == prediction.probabilities.argmax(dim=1).tolist()
    assert torch.allclose(found["probabilities"], calibration.probabilities(prediction), atol=1e-6)
    assert torch.allclose(found["foreign_score"], prediction.scores, atol=1e-6)
    assert torch.allclose(found["p_value"].double(), calibration.p_values(prediction.scores), atol=1e-6)
    assert found["foreign"].tolist() == (prediction.scores > calibration.threshold).tolist()


@pytest.mark.parametrize("name", ["lond-drs", "ngc"])
def test_before_there_are_prototypes(name: str) -> None:
    run = trained(name, epochs=1).run
    prediction = run.predict(FRESH)
    assert torch.allclose(PredictionGraph(run)(input_of(run))["foreign_score"], prediction.scores, atol=1e-6)


def test_the_run_is_left_alone() -> None:
    run = trained().run
    run.method.train()
    PredictionGraph(run)
    assert run.method.training and next(run.method.parameters()).requires_grad


def test_another_threshold_and_none() -> None:
    run = trained().run
    assert PredictionGraph(run, -1.0)(input_of(run))["foreign"].all()
    bare = replace(run, calibration=None)
    found = PredictionGraph(bare, 2.0)(input_of(run))
    assert "p_value" not in found and not found["foreign"].any()
    assert torch.allclose(found["probabilities"], run.predict(FRESH).probabilities, atol=1e-6)
    with pytest.raises(DataError, match="no stored threshold.*--threshold.*lond calibrate"):
        PredictionGraph(bare)
