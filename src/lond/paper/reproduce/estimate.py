"""How long runs will take: passes over the images, times what one pass of the network takes here, and searches.

A pass is timed on one thread in CPU time, of which other work on the machine takes nothing, and the fastest of several
counts: a busy moment must not make hours into years.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import torch

from lond.config import NetSettings, RunConfig
from lond.nets.backbones import build_backbone
from lond.paper.reproduce.planning import Run
from lond.paper.reproduce.searching import search_seconds
from lond.results.store import scan
from lond.train.runtime import RuntimeSettings

PASSES: Mapping[str, tuple[float, float]] = {
    "standard": (1, 1),
    "co-teaching": (2, 2),
    "co-teaching-plus": (2, 3),
    "dividemix": (2, 8),
    "ngc": (2.3, 13),
    "jo-src": (2, 4),
    "unicon": (2, 10),
    "nce": (2, 9),
    "cir-plus": (5, 15),
    "disc": (3, 5),
    "npn-hard": (2, 2.2),
    "npn-soft": (2, 2.2),
    "sed": (1.3, 5),
    "lond-drs": (2.2, 11),
}
"""Method -> what an epoch of warm-up, and one after it, costs in epochs of plain cross-entropy; from runs on mini80."""

EVALUATION = 0.1
"""The same for evaluating an epoch."""

IMAGES = {
    "cifar10n": 50_000, "cifar80n": 50_000, "cifar100n": 50_000, "mini80": 10_000, "digits": 1_198,
    "web-aircraft": 13_503, "web-bird": 18_388, "web-car": 21_448,
}  # fmt: skip
"""Training images of each benchmark."""

SIDES = {"mini80": 16, "digits": 16}
"""Sides in pixels of benchmarks that are not of 32; the web sets' are a setting."""

OWN_IMAGES = 120
"""Training images of the generated folder of smoke runs."""

FEATURES = 1280
"""Length of the frozen network's features."""

START = 1.0
"""Seconds that a run takes besides its epochs."""

MEASURED, AT_LEAST = 5, 0.5
"""Passes of which the fastest counts, at least, and seconds that they are repeated for: a short one says little."""


def estimated_seconds(
    runs: Iterable[Run], store: Path, runtime: RuntimeSettings | None = None, workers: int = 1
) -> float:
    """Return roughly how many seconds runs will take if nothing else uses the machine.

    A stored run of the same settings on the same kind of device tells better than a few passes; of several the
    fastest does.
    """
    runtime = runtime or RuntimeSettings()
    threads = min(runtime.threads or torch.get_num_threads(), cores())
    device = device_of(runtime.accelerator)
    stored = stored_seconds(store, torch.cuda.get_device_name() if device == "cuda" else device, threads)
    seconds = [stored.get(run.variant) or run_seconds(run.config, device, threads) for run in runs]
    # Jobs that have no core of their own wait for each other.
    at_a_time = min(workers, len(seconds), cores() / threads if device == "cpu" else workers)
    return sum(seconds) / max(1.0, at_a_time)


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


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_seconds(config: RunConfig, device: str = "cpu", threads: int = 1) -> float:
    """Return roughly how many seconds a run takes; threads are taken to share the work evenly."""
    if config.data.frozen.backbone:
        image = (1, 1, FEATURES)
    elif config.data.source:
        side = config.data.read.size or SIDES["digits"]
        image = (config.data.read.channels, side, side)
    else:
        image = _image(config)
    images = training_images(config)
    work = passes(config) * images * pass_seconds(config.net, image, device)
    if device != "cpu":
        return START + work
    with _one_thread():
        return START + (work + search_seconds(config, images, fastest)) / threads


def _image(config: RunConfig) -> tuple[int, int, int]:
    benchmark = config.data.benchmark
    side = benchmark.image_size if benchmark.name.startswith("web-") else SIDES.get(benchmark.name, 32)
    return (1 if benchmark.name == "digits" else 3), side, side


def training_images(config: RunConfig) -> int:
    """Return how many images a run learns from."""
    benchmark = config.data.benchmark
    return OWN_IMAGES if config.data.source else IMAGES[benchmark.name] + benchmark.open_images


def passes(config: RunConfig) -> float:
    """Return how many epochs of plain cross-entropy a run costs."""
    epochs, steps = config.train.epochs, config.train.max_steps
    warmup = min(epochs, getattr(config.settings, "warmup_epochs", 0))
    first, later = PASSES[config.method]
    share = min(1.0, steps * config.train.batch_size / training_images(config)) if steps else 1.0
    return warmup * first + (epochs - warmup) * later * share + epochs * EVALUATION


@lru_cache
def pass_seconds(net: NetSettings, image: tuple[int, int, int], device: str = "cpu") -> float:
    """Return the seconds that one image takes forward and backward, on a CPU with one thread, from random ones."""
    channels, height, width = image
    options = {"in_channels": channels, "image_size": (height, width)}
    with torch.random.fork_rng(devices=[]):
        backbone = build_backbone(net.backbone, width=net.width, **options)  # type: ignore[arg-type]
        batch = 2 if height > 64 else 16
        images = torch.rand(batch, *image).to(device)
    module = backbone.module.to(device).train()

    def step() -> None:
        # The value is read back, so that a device that works ahead has really ended.
        module(images).square().mean().backward()
        float(next(module.parameters()).detach().sum())

    with _one_thread():
        return fastest(step, time.process_time if device == "cpu" else time.perf_counter) / batch


def fastest(step: Callable[[], None], clock: Callable[[], float], at_least: float = AT_LEAST) -> float:
    """Return the seconds of the fastest of several steps, made for at least so many seconds."""
    taken = list[float]()
    end = time.perf_counter() + at_least
    while len(taken) < MEASURED or time.perf_counter() < end:
        started = clock()
        step()
        taken.append(clock() - started)
    return min(taken)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep threads from waiting for each other in CPU time, which would be counted."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def device_of(accelerator: str) -> str:
    """Return the device that runs will be on."""
    if accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available():
        return "cuda"
    if accelerator in ("auto", "gpu", "mps") and torch.backends.mps.is_available():
        return "mps"
    return "cpu"


def duration(seconds: float) -> str:
    """Return a time as a reader wants it."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def estimate_text(seconds: float) -> str:
    """Return an estimate with what it stands for."""
    return f"about {duration(seconds)} on this machine, measured now (rough; longer while other work shares its cores)"
