"""The record of every epoch, handed to TensorBoard, MLflow or Weights & Biases; each needs its package."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lond.errors import ConfigError, MissingDependencyError
from lond.progress.events import Event, flat_numbers, listening


class Sink(ABC):
    """Takes the numbers of every record, as log.jsonl holds them; steps of the same name count as one training."""

    package = ""
    """What must be installed."""

    def __init__(self, folder: Path, name: str) -> None:
        """Begin to write; ``folder`` is that of the run, ``name`` what it is called there."""
        self.folder, self.name = folder, name
        self.start()

    def __call__(self, event: Event) -> None:
        """Hand on the numbers of an epoch that has ended."""
        if event.record is not None:
            before = f"{event.name} {event.step}/" if event.steps > 1 else ""
            numbers = {f"{before}{name}": value for name, value in flat_numbers(event.record).items()}
            self.write(numbers, int(event.record.get("epoch", 0)))

    @abstractmethod
    def start(self) -> None:
        """Open what is written to."""

    @abstractmethod
    def write(self, numbers: dict[str, float], epoch: int) -> None:
        """Write the numbers of one epoch."""

    @abstractmethod
    def close(self) -> None:
        """End writing."""

    def need(self, module: str) -> Any:
        """Return a module of the package.

        Raises:
            MissingDependencyError: it is not installed.
        """
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise MissingDependencyError(
                f"logging to {self.package} needs its package: pip install {self.package}"
            ) from error


class TensorBoardSink(Sink):
    """Writes to ``<run folder>/tensorboard``."""

    package = "tensorboard"

    def start(self) -> None:
        """Open a folder of event files."""
        self.need("tensorboard")
        writer = self.need("torch.utils.tensorboard").SummaryWriter
        self._writer = writer(log_dir=str(self.folder / "tensorboard"))

    def write(self, numbers: dict[str, float], epoch: int) -> None:
        """Add one point to every curve."""
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, epoch)
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        self._writer.close()


class MlflowSink(Sink):
    """Writes to the tracking server that MLflow's own settings name."""

    package = "mlflow"

    def start(self) -> None:
        """Start a run."""
        self._mlflow = self.need("mlflow")
        self._mlflow.start_run(run_name=self.name)

    def write(self, numbers: dict[str, float], epoch: int) -> None:
        """Log the numbers; MLflow allows neither every sign in a name nor NaN on every server."""
        known = {_plain_name(name): value for name, value in numbers.items() if value == value}
        self._mlflow.log_metrics(known, step=epoch)

    def close(self) -> None:
        """End the run."""
        self._mlflow.end_run()


class WandbSink(Sink):
    """Writes to the project that the settings of Weights & Biases name, ``lond`` if they name none."""

    package = "wandb"

    def start(self) -> None:
        """Start a run."""
        wandb = self.need("wandb")
        project = None if wandb.env.get_project() else "lond"
        self._run = wandb.init(project=project, name=self.name, dir=str(self.folder))

    def write(self, numbers: dict[str, float], epoch: int) -> None:
        """Log the numbers of one epoch."""
        self._run.log(numbers | {"epoch": epoch})

    def close(self) -> None:
        """End the run."""
        self._run.finish()


SINKS: dict[str, type[Sink]] = {"tensorboard": TensorBoardSink, "mlflow": MlflowSink, "wandb": WandbSink}
"""Name -> sink."""


@contextmanager
def recorded(names: Sequence[str], folder: Path, title: str) -> Iterator[None]:
    """Hand the records of all training that happens meanwhile to these sinks.

    Raises:
        ConfigError: there is no such sink.
        MissingDependencyError: its package is not installed.
    """
    unknown = [name for name in names if name not in SINKS]
    if unknown:
        raise ConfigError(f"there is no log {unknown[0]!r}; choose one of {', '.join(SINKS)}")
    if names:
        folder.mkdir(parents=True, exist_ok=True)
    sinks: list[Sink] = []
    try:
        for name in names:
            sinks.append(SINKS[name](folder, title))
        with listening(*sinks):
            yield
    finally:
        for sink in sinks:
            sink.close()


def _plain_name(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "_-. /" else "_" for sign in name)
