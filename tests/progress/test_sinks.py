"""Records in TensorBoard, MLflow and Weights & Biases: as these packages would get them, and in the real ones."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lond.errors import ConfigError, MissingDependencyError
from lond.progress.sinks import SINKS, recorded
from lond.progress.work import Work

RECORDS = [{"epoch": epoch, "loss": 1.0 / (epoch + 1), "phase": "x", "seconds": {"train": 2.0}} for epoch in range(2)]


def drive(name: str, folder: Path, steps: int = 1) -> None:
    with recorded([name], folder, "lond-drs"):
        work = Work("training", steps)
        for step in range(steps):
            work.begin(f"part {step}")
            for record in RECORDS:
                work.record(record)


class Fake(ModuleType):
    """Writes down what it is called with."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.calls: list[tuple[Any, ...]] = []
        self.env = SimpleNamespace(get_project=lambda: None)

    def SummaryWriter(self, **options: Any) -> Any:
        self.calls.append(("open", options))
        return self

    def init(self, **options: Any) -> Any:
        self.calls.append(("open", options))
        return self

    def start_run(self, **options: Any) -> None:
        self.calls.append(("open", options))

    def add_scalar(self, name: str, value: float, epoch: int) -> None:
        self.calls.append((name, value, epoch))

    def log_metrics(self, numbers: dict[str, float], step: int) -> None:
        self.calls += [(name, value, step) for name, value in numbers.items()]

    def log(self, numbers: dict[str, float]) -> None:
        self.calls += [(name, value, numbers["epoch"]) for name, value in numbers.items() if name != "epoch"]

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.calls.append(("close",))

    finish = end_run = close


@pytest.mark.parametrize("name", list(SINKS))
def test_every_sink_gets_the_same_numbers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(name)
    monkeypatch.setitem(sys.modules, name, fake)
    if name == "tensorboard":
        monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    drive(name, tmp_path / "run")
    assert fake.calls[0][0] == "open" and fake.calls[-1] == ("close",)
    assert fake.calls[1:-1] == [
        ("loss", 1.0, 0),
        ("seconds/train", 2.0, 0),
        ("loss", 0.5, 1),
        ("seconds/train", 2.0, 1),
    ]


def test_steps_of_one_work_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake("mlflow")
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    drive("mlflow", tmp_path, steps=2)
    assert [call[0] for call in fake.calls[1:-1:4]] == ["part 0 1/loss", "part 1 2/loss"]


def test_missing_packages_and_unknown_sinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SINKS:
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingDependencyError, match=f"pip install {name}"), recorded([name], tmp_path, "x"):
            pass
    with (
        pytest.raises(ConfigError, match="no log 'paper'; choose one of tensorboard"),
        recorded(["paper"], tmp_path, "x"),
    ):
        pass
    with recorded([], tmp_path / "none", "x"):
        assert not (tmp_path / "none").exists()


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    drive("tensorboard", tmp_path)
    found = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert [(point.step, point.value) for point in found.Scalars("loss")] == [(0, 1.0), (1, 0.5)]


def test_mlflow_reads_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    drive("mlflow", tmp_path)
    (found,) = mlflow.MlflowClient().search_runs(["0"])
    assert found.data.metrics["loss"] == 0.5 and found.info.run_name == "lond-drs"


def test_weights_and_biases_takes_it_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    drive("wandb", tmp_path)
    assert list((tmp_path / "wandb").glob("offline-run-*"))
