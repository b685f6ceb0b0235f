"""How long runs will take: passes over the images, times what one pass of the network takes here."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import torch

from lond.config import NetSettings, RunConfig
from lond.nets.backbones import build_backbone
from lond.reproduce.planning import Run
from lond.store.files import scan
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
    "web-aircraft": 6_667, "web-bird": 18_388, "web-car": 21_448,
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

MEASURED = 3
"""Passes of which the fastest counts."""


def estimated_seconds(
    runs: Iterable[Run], store: Path, runtime: RuntimeSettings | None = None, workers: int = 1
) -> float:
    """Return roughly how many seconds runs will take, from a stored run of the same settings or from a few passes."""
    runtime = runtime or RuntimeSettings()
    if runtime.threads:
        torch.set_num_threads(runtime.threads)
    stored: dict[str, float] = {}
    for record in scan(store)[0] if store.is_dir() else []:
        if record.total_seconds:
            stored[record.variant] = record.total_seconds
    device = device_of(runtime.accelerator)
    seconds = [stored.get(run.variant) or run_seconds(run.config, device) for run in runs]
    return sum(seconds) / max(1, min(workers, len(seconds)))


def run_seconds(config: RunConfig, device: str = "cpu") -> float:
    """Return roughly how many seconds a run takes."""
    if config.data.frozen.backbone:
        image = (1, 1, FEATURES)
    elif config.data.source:
        side = config.data.read.size or SIDES["digits"]
        image = (config.data.read.channels, side, side)
    else:
        image = _image(config)
    return START + passes(config) * training_images(config) * pass_seconds(config.net, image, device)


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
    """Return the seconds that one image takes forward and backward, measured on a few random ones."""
    channels, height, width = image
    options = {"in_channels": channels, "image_size": (height, width)}
    with torch.random.fork_rng(devices=[]):
        backbone = build_backbone(net.backbone, width=net.width, **options)  # type: ignore[arg-type]
        batch = 2 if height > 64 else 16
        images = torch.rand(batch, *image).to(device)
    module = backbone.module.to(device).train()
    fastest = float("inf")
    for _ in range(MEASURED):
        started = time.perf_counter()
        # The value is read back, so that a device that works ahead has really ended.
        module(images).square().mean().backward()
        float(next(module.parameters()).detach().sum())
        fastest = min(fastest, time.perf_counter() - started)
    return fastest / batch


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
