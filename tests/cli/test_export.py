"""The command that writes a trained run for other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from export.export_samples import trained

from lond.runs import load_run, save_trained

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_trained(tmp_path / "run", trained())
    return tmp_path / "run"


def test_weights_are_written(run: Path, tmp_path: Path, lond: Call) -> None:
    code, out, err = lond("export", run, tmp_path / "out" / "model.safetensors", "--threshold", 0.25)
    assert code == 0
    assert err.splitlines() == ["export: step 1 of 2, reading the run", "export: step 2 of 2, writing"]
    assert "3 classes, threshold 0.25" in out and "outputs" not in out
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_the_threshold_has_all_its_digits(run: Path, tmp_path: Path, lond: Call) -> None:
    _, out, _ = lond("export", run, tmp_path / "model.safetensors", "--threshold", 0.123456789012345)
    assert "threshold 0.123456789012345" in out
    _, out, _ = lond("export", run, tmp_path / "model.safetensors")
    assert float(out.split("threshold ")[1].split()[0]) == load_run(run).threshold


def test_a_graph_is_written_and_described(run: Path, tmp_path: Path, lond: Call) -> None:
    code, out, err = lond("export", run, tmp_path / "model.pt2")
    assert "export: step 2 of 3, tracing the network" in err and "step 3 of 3, writing" in err
    assert code == 0 and "input images: uint8 (batch, 1, 8, 8)\n  decode, turn upright" in out
    assert "\n  cut out the centre square, " in out and max(map(len, out.splitlines())) < 180
    assert "outputs: class, probabilities, foreign_score, p_value, foreign; foreign score: " in out


def test_an_unknown_ending_is_one_line(run: Path, tmp_path: Path, lond: Call) -> None:
    code, _, err = lond("export", run, tmp_path / "model.h5")
    assert code == 2 and "must end in one of .onnx, .pt2, .safetensors" in err


@pytest.mark.parametrize("files", [[], ["a.onnx", "--out", "b.onnx"]])
def test_one_file_is_named(files: list[str], run: Path, lond: Call) -> None:
    code, _, err = lond("export", run, *files)
    assert code == 2 and "name one file to write" in err


def test_the_file_as_an_option(run: Path, tmp_path: Path, lond: Call) -> None:
    code, _, _ = lond("export", run, "--out", tmp_path / "weights.safetensors")
    assert code == 0 and (tmp_path / "weights.safetensors").is_file()
