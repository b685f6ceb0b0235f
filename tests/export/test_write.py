"""Files of every format."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
import torch
from export.export_samples import input_of, trained
from safetensors import safe_open
from safetensors.torch import load_file

from lond.errors import ConfigError, DataError
from lond.export import FORMATS, PredictionGraph, export_run
from lond.runs import save_trained


def test_a_program_for_pytorch(tmp_path: Path) -> None:
    run = trained("lond-drs").run
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        said = export_run(run, tmp_path / "model.pt2")
    extra = {"lond": ""}
    program = torch.export.load(tmp_path / "model.pt2", extra_files=extra)
    assert json.loads(extra["lond"]) == said
    found, expected = program.module()(input_of(run)), PredictionGraph(run)(input_of(run))
    assert all(torch.allclose(found[key].double(), value.double(), atol=1e-6) for key, value in expected.items())


def test_weights_by_name(tmp_path: Path) -> None:
    run = trained("lond-drs").run
    said = export_run(run, tmp_path / "model.safetensors")
    tensors, own = load_file(tmp_path / "model.safetensors"), run.method.state_dict()
    assert tensors.keys() == own.keys() and "net.prototypes" in tensors
    assert all(torch.equal(tensors[name], value.cpu()) for name, value in own.items())
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["lond"]) == said
    assert said["outputs"] == {} and said["classes"] == ["class0", "class1", "class2"]


def test_a_run_folder_is_read(tmp_path: Path) -> None:
    save_trained(tmp_path / "run", trained())
    assert export_run(tmp_path / "run", tmp_path / "a.safetensors")["method"] == "standard"
    with pytest.raises(DataError, match="there is no run folder"):
        export_run(tmp_path / "nowhere", tmp_path / "a.safetensors")


def test_an_unknown_ending_is_said(tmp_path: Path) -> None:
    assert set(FORMATS) == {".onnx", ".pt2", ".safetensors"}
    with pytest.raises(ConfigError, match=r"model\.bin must end in one of \.onnx, \.pt2, \.safetensors"):
        export_run(trained().run, tmp_path / "model.bin")
