"""ONNX files give what PyTorch gives."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from export.export_samples import CPU, FRESH, SAMPLES, input_of, trained, trained_on_features

from lond.errors import ConfigError, MissingDependencyError
from lond.export import PredictionGraph, export_run
from lond.export.graph import EXPORTABLE
from lond.export.onnx_file import OPERATORS, precise_log_sigmoid, precise_sigmoid, silenced
from lond.methods import METHODS
from lond.runs import LoadedRun
from lond.runs.calibration import calibrate_scores
from lond.runs.fit_detector import fit_detector
from lond.train.runtime import Runtime

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

OUTPUTS = ["class", "probabilities", "foreign_score", "p_value", "foreign", "label", "verdict"]


def answers(path: Path, name: str, given: torch.Tensor) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {name: given.numpy()}), strict=True))


def check_same(run: LoadedRun, path: Path, given: torch.Tensor) -> None:
    graph = PredictionGraph(run)
    for rows in (1, len(given)):
        found, expected = answers(path, graph.takes.name, given[:rows]), graph(given[:rows])
        for key, value in expected.items():
            assert np.allclose(found[key].astype(float), value.double().numpy(), rtol=0, atol=1e-5), key


@pytest.mark.parametrize("name", sorted(EXPORTABLE))
def test_a_detector_gives_what_the_run_says(name: str, tmp_path: Path) -> None:
    made = trained("lond-drs")
    detector = fit_detector(made.run, name, SAMPLES, None, Runtime(CPU))
    calibration = calibrate_scores(made.run.predict(SAMPLES, None, detector).scores, 0.2, "these", detector)
    run = replace(made.run, calibration=calibration)
    said = export_run(run, tmp_path / "model.onnx")
    assert said["detector"].startswith(name)
    found = answers(tmp_path / "model.onnx", "images", input_of(run))
    told = run.predict(FRESH)
    assert np.allclose(found["foreign_score"], told.scores.numpy(), rtol=1e-3, atol=1e-4)
    assert found["foreign"].tolist() == (told.scores > calibration.threshold).tolist()


def test_a_detector_that_cannot_be_exported_is_named(tmp_path: Path) -> None:
    made = trained("lond-drs")
    detector = fit_detector(made.run, "gradnorm", SAMPLES, None, Runtime(CPU))
    calibration = calibrate_scores(made.run.predict(SAMPLES, None, detector).scores, 0.2, "these", detector)
    with pytest.raises(ConfigError, match="the detector gradnorm of the run cannot be exported; these can: own, ebo"):
        export_run(replace(made.run, calibration=calibration), tmp_path / "model.onnx")


ONE_OF_EACH = ["lond-drs", "ngc", "cir-plus", "dividemix", "co-teaching", "standard", "cross-fit"]
"""Methods that predict each in its own way."""


def test_every_way_to_predict_is_tried() -> None:
    assert {METHODS[name].predict for name in ONE_OF_EACH} == {method.predict for method in METHODS.values()}


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_images(name: str, tmp_path: Path) -> None:
    run = trained(name).run
    export_run(run, tmp_path / "model.onnx", text=False)
    check_same(run, tmp_path / "model.onnx", input_of(run))


def test_features(tmp_path: Path) -> None:
    run = trained_on_features().run
    export_run(run, tmp_path / "model.onnx")
    given = torch.randn(9, run.shape.size[1], generator=torch.Generator().manual_seed(0))
    check_same(run, tmp_path / "model.onnx", given)


def test_text_description_and_any_number_of_images(tmp_path: Path) -> None:
    run = trained().run
    said = export_run(run, tmp_path / "new" / "model.onnx")
    model = onnx.load(tmp_path / "new" / "model.onnx")
    assert json.loads({entry.key: entry.value for entry in model.metadata_props}["lond"]) == said
    assert list(said["outputs"]) == OUTPUTS == [output.name for output in model.graph.output]
    shapes = {value.name: value.type.tensor_type.shape.dim[0].dim_param for value in model.graph.output}
    assert set(shapes.values()) == {model.graph.input[0].type.tensor_type.shape.dim[0].dim_param} == {"batch"}
    found = answers(tmp_path / "new" / "model.onnx", "images", input_of(run))
    assert found["label"].tolist() == [said["classes"][place] for place in found["class"]]
    assert found["verdict"].tolist() == ["foreign" if foreign else "known" for foreign in found["foreign"]]


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[export\]'"):
        export_run(tmp_path / "no run is read before", tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_silenced_logger_speaks_again_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger(OPERATORS)
    with silenced(OPERATORS):
        logger.warning("torchvision is not installed")
        logger.error("an error")
    logger.warning("later")
    assert [record.getMessage() for record in caplog.records] == ["an error", "later"]


def test_sigmoids_are_precise_where_they_are_small() -> None:
    values = torch.linspace(-60, 60, 25)
    assert torch.allclose(precise_sigmoid(values), values.double().sigmoid().float(), rtol=1e-5, atol=0)
    assert torch.allclose(precise_log_sigmoid(values), F.logsigmoid(values), atol=1e-6)
    assert precise_sigmoid(torch.tensor([-1e4, 1e4])).tolist() == [0, 1]
