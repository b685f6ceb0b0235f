"""How long a run will take: passes over its images, times what one pass of its network takes here, and searches.

Both are timed on one thread in CPU time, of which other work on the machine takes nothing, and the fastest of several
counts: a busy moment must not make hours into years.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch

from lond.config import NetSettings, RunConfig
from lond.data.benchmarks import EXTENTS
from lond.data.sources import load
from lond.device import choose_device
from lond.identify import nearest_neighbours
from lond.methods import ALL_METHODS
from lond.methods.base import Cost
from lond.nets.backbones import build_backbone
from lond.seeds import own_random_state
from lond.train.runtime import RuntimeSettings

FEATURE_SIZE = 1280
"""Length of the features of the usual frozen network."""

EVALUATION = 0.1
"""What evaluating an epoch costs, in epochs of plain cross-entropy."""

START = 1.0
"""Seconds that a run takes besides its epochs."""

QUERIES = 64
"""Images whose neighbours are looked for to time a search."""

REPEATS, ENOUGH = 3, 0.5
"""How often, and for how many seconds, something is repeated at least: a short time says little."""


@dataclass(frozen=True)
class Amount:
    """How many images a run learns from, and their ``(channels, height, width)``."""

    images: int
    image: tuple[int, int, int]


def amount_of(config: RunConfig) -> Amount:
    """Return what a run learns from; your own files are listed, those of a benchmark need not be there.

    Raises:
        DataError: the source cannot be read.
    """
    data = config.data
    if data.source:
        samples = load(data.source, options=data.read)
        images, image = round((1 - data.hold_out) * len(samples)), (samples.pixels.channels, *samples.pixels.size)
    else:
        extent = EXTENTS[data.benchmark.name]
        side = extent.side or data.benchmark.image_size
        images, image = extent.images + data.benchmark.open_images, (extent.channels, side, side)
    return Amount(images, (1, 1, FEATURE_SIZE) if data.frozen.backbone else image)


def run_seconds(config: RunConfig, amount: Amount, runtime: RuntimeSettings) -> float:
    """Return roughly how many seconds a run takes; threads and processes are taken to share the work evenly.

    A method that does not say what it costs counts as plain cross-entropy.
    """
    cost = ALL_METHODS[config.method].cost or Cost()
    device, parts = choose_device(runtime.accelerator).type, runtime.devices * runtime.num_nodes
    train, images = config.train, amount.images
    warmup = min(train.epochs, getattr(config.settings, "warmup_epochs", 0))
    later = train.epochs - warmup
    share = min(1.0, train.max_steps * train.batch_size / images) if train.max_steps else 1.0
    passes = warmup * cost.warmup + later * share * cost.later + train.epochs * EVALUATION
    work = passes * images * pass_seconds(config.net, amount.image, device)
    if device != "cpu":
        # A GPU searches in next to no time.
        return START + work / parts
    if cost.searches and later:
        work += later * cost.searches * search_seconds(images, cost.width, cost.neighbours)
    return START + work / (parts * threads_of(runtime))


@lru_cache
def pass_seconds(net: NetSettings, image: tuple[int, int, int], device: str = "cpu") -> float:
    """Return the seconds that one image takes forward and backward, from a batch of random ones."""
    channels, height, width = image
    with own_random_state(0, "estimate"):
        backbone = build_backbone(net.backbone, in_channels=channels, image_size=(height, width), width=net.width)
        images = torch.rand(2 if height > 64 else 16, *image).to(device)
    module = backbone.module.to(device).train()

    def step() -> None:
        loss = module(images).square().mean()
        loss.backward()
        # The value is read back, so that a device that works ahead has really ended.
        loss.item()

    return _fastest(step, time.process_time if device == "cpu" else time.perf_counter) / len(images)


@lru_cache
def search_seconds(images: int, width: int, neighbours: int) -> float:
    """Return the seconds of one search among all images on a CPU, from that for a few of them."""
    bank = torch.rand(images, width, generator=torch.Generator().manual_seed(0))
    queries = bank[:QUERIES]
    seconds = _fastest(lambda: nearest_neighbours(bank, neighbours, queries=queries), time.process_time)
    return seconds * images / len(queries)


def _fastest(step: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return the seconds of the fastest of several steps; threads, whose waiting would be counted, are kept out."""
    threads, taken = torch.get_num_threads(), list[float]()
    torch.set_num_threads(1)
    try:
        while len(taken) < REPEATS or sum(taken) < ENOUGH:
            began = clock()
            step()
            taken.append(clock() - began)
    finally:
        torch.set_num_threads(threads)
    return min(taken)


def threads_of(runtime: RuntimeSettings) -> int:
    """Return the threads of a process: as many as asked for, or as PyTorch takes, but no more than there are cores."""
    return min(runtime.threads or torch.get_num_threads(), cores())


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def duration(seconds: float) -> str:
    """Return a time as a reader wants it."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def estimate_text(seconds: float, at_least: bool = False) -> str:
    """Return an estimate with what it stands for; ``at_least`` if the method does not say what it costs."""
    time_taken = f"{'at least' if at_least else 'about'} {duration(seconds)}"
    return f"{time_taken} on this machine, measured now (rough; longer while other work shares its cores)"
