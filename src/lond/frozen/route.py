"""Images of a run on features: turned into features by its frozen network, on its device, with a progress bar."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from lond.errors import ConfigError
from lond.frozen.cache import Progress
from lond.frozen.samples import FrozenSettings, as_features, is_features
from lond.train.runtime import RuntimeSettings
from lond.types import Samples


def training_features(
    samples: Samples, frozen: FrozenSettings, runtime: RuntimeSettings | None, show_progress: bool | None
) -> Samples:
    """Return the features of a run's own images, kept for the next run.

    Raises:
        ConfigError: the samples are features already.
        DataError: none of the images can be read.
    """
    if is_features(samples.pixels):
        raise ConfigError(
            f"{samples.origin} holds features already, which no frozen network can look at: leave out data.frozen"
        )
    return _features(samples, frozen, Path(frozen.cache), runtime, show_progress)


def new_features(samples: Samples, frozen: FrozenSettings) -> Samples:
    """Return the features of images that a trained run is asked about; features are taken as they are.

    They are kept only where the run's cache is: to ask a run that was moved leaves no files behind.
    """
    if is_features(samples.pixels):
        return samples
    cache = Path(frozen.cache)
    if cache.is_dir() and os.access(cache, os.W_OK):
        return _features(samples, frozen, cache)
    with tempfile.TemporaryDirectory() as passing:
        return _features(samples, frozen, Path(passing))


def _features(
    samples: Samples,
    frozen: FrozenSettings,
    cache: Path,
    runtime: RuntimeSettings | None = None,
    show_progress: bool | None = None,
) -> Samples:
    runtime = runtime or RuntimeSettings()
    if runtime.threads:
        torch.set_num_threads(runtime.threads)
    device = "cuda" if runtime.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available() else "cpu"
    with named_bars(show_progress) as bars:
        return as_features(samples, frozen, cache, device, bars)


@contextmanager
def named_bars(show: bool | None = None) -> Iterator[Callable[[str], Progress]]:
    """Give progress bars by name on standard error; ``show`` None means: if it is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    shown = console.is_terminal if show is None else show
    with Bars(*columns, console=console, transient=True, disable=not shown) as progress:

        def bar(name: str) -> Progress:
            task = progress.add_task(name, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield bar
