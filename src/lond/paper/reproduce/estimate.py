"""Time estimate for the runs of a plan, from stored runs or from a measurement."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch

from lond.config import RunConfig
from lond.device import choose_device
from lond.paper.reproduce.planning import Run
from lond.paper.reproduce.smoke_data import CLASSES, TRAINING
from lond.results.store import scan
from lond.runs.estimate import Amount, amount_of, cores, run_seconds, threads_of
from lond.train.runtime import RuntimeSettings


def estimated_seconds(
    runs: Iterable[Run], store: Path, runtime: RuntimeSettings | None = None, workers: int = 1
) -> float:
    """Return roughly how many seconds runs will take if nothing else uses the machine.

    A stored run of the same settings on the same kind of device tells better than a few passes; of several the
    fastest does.
    """
    runtime = runtime or RuntimeSettings()
    threads, device = threads_of(runtime), choose_device(runtime.accelerator).type
    stored = stored_seconds(store, torch.cuda.get_device_name() if device == "cuda" else device, threads)
    seconds = [stored.get(run.variant) or run_seconds(run.config, _amount(run.config), runtime) for run in runs]
    # Jobs that have no core of their own wait for each other.
    at_a_time = min(workers, len(seconds), cores() / threads if device == "cpu" else workers)
    return sum(seconds) / max(1.0, at_a_time)


def _amount(config: RunConfig) -> Amount:
    """Return what a run learns from; the folder of smoke runs need not be there yet."""
    if not config.data.source:
        return amount_of(config)
    read = config.data.read
    assert read.size is not None, "smoke runs say what they read"
    return Amount(CLASSES * TRAINING, (read.channels, read.size, read.size))


def stored_seconds(store: Path, device: str, threads: int) -> dict[str, float]:
    """Return, by variant, the seconds that stored runs took on such a device, as they would on so many threads."""
    found: dict[str, float] = {}
    for record in scan(store)[0] if store.is_dir() else []:
        machine = record.machine
        if record.total_seconds and machine.device == device:
            shared = (machine.threads or threads) / threads if device == "cpu" else 1.0
            seconds = record.total_seconds * shared
            found[record.variant] = min(seconds, found.get(record.variant, seconds))
    return found
