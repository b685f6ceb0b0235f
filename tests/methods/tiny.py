"""Data, networks and trainers that are small enough for tests."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lond.data.batches import BatchMaker
from lond.data.pixels import ArrayPixels
from lond.data.views import ViewMaker, ViewSettings
from lond.identify import IdentifySettings
from lond.methods import METHODS, LondDrs, LondDrsFastSettings, LondDrsSettings, Method, Task
from lond.nets import build_backbone
from lond.presets.recipes.base import extended
from lond.seeds import own_random_state
from lond.train import OptimiserSettings, Runtime, RuntimeSettings, Trainer, TrainSettings
from lond.types import Batch, Phase, Samples

SMALL = {
    "warmup_epochs": 1, "initial_epochs": 1, "ramp_epochs": 2, "hidden": 32, "embedding_size": 8, "neighbours": 6,
    "iterations": 4, "unlabelled_weight": 1.0,
}  # fmt: skip
"""Settings of any method, for a handful of images."""

VIEWS = ViewSettings(padding=1, flip=False, strong="geometric")


def tiny_samples(
    count: int = 40, classes: int = 3, *, labels: Tensor | None = None, truth: bool = True, seed: int = 0, side: int = 8
) -> Samples:
    """Grey images with one bright band a class, on a noisy ground; class ``c`` is bright in its own rows."""
    random = torch.Generator().manual_seed(seed)
    true = torch.arange(count) % classes
    images = torch.randint(0, 90, (count, 1, side, side), generator=random)
    for index, label in enumerate(true.tolist()):
        images[index, :, label * side // classes : (label + 1) * side // classes] += 140
    given = true if labels is None else labels
    names = tuple(f"class{label}" for label in range(classes))
    ids = tuple(f"{index:03d}" for index in range(count))
    return Samples(ArrayPixels(images.to(torch.uint8)), given, names, ids, true if truth else None)


def write_npz(path: Path, count: int = 96, classes: int = 3) -> None:
    """Write images of which a third has the next class's label."""
    samples = tiny_samples(count, classes)
    wrong = torch.arange(count) % (2 * classes) < classes // 2 + 1
    labels = (samples.labels + wrong) % classes
    assert isinstance(samples.pixels, ArrayPixels)
    np.savez(path, x=samples.pixels.images.numpy(), y=labels.numpy())


def tiny_task(samples: Samples) -> Task:
    size = samples.pixels.size
    return Task(
        samples.labels,
        samples.num_classes,
        lambda: build_backbone("seven-layer", in_channels=samples.pixels.channels, image_size=size, width=0.25),
    )


def lond_settings(**changes: Any) -> LondDrsSettings:
    """Settings with a warm-up of one epoch, six neighbours and a small embedding."""
    start = LondDrsSettings(warmup_epochs=1, embedding_size=8, ramp_epochs=2, identify=IdentifySettings(neighbours=6))
    return replace(start, **changes)


def default_settings(name: str) -> Any:
    """Return a method's own defaults, made small where it has such settings."""
    if name == "lond-drs":
        return lond_settings()
    if name == "lond-drs-fast":
        return extended(LondDrsFastSettings, lond_settings())
    settings = METHODS[name].settings_class()
    known = {field.name for field in fields(settings)}
    return replace(settings, **{key: value for key, value in SMALL.items() if key in known and getattr(settings, key)})


def tiny_method(samples: Samples, name: str = "lond-drs", settings: Any = None, seed: int = 0) -> Method:
    with own_random_state(seed, "initial weights"):
        method: Method = METHODS[name](settings or default_settings(name), tiny_task(samples))
    return method


def tiny_lond(samples: Samples, **changes: Any) -> LondDrs:
    method = tiny_method(samples, settings=lond_settings(**changes))
    assert isinstance(method, LondDrs)
    return method


def survey_of(method: Method, samples: Samples) -> Any:
    """Return a survey as the training loop offers one."""

    @torch.no_grad()
    def survey(describe: Any) -> tuple[Tensor, ...]:
        method.eval()
        out: tuple[Tensor, ...] = describe(ViewMaker(VIEWS, samples.pixels.channels).test(samples.pixels.images))
        return out

    return survey


def first_batches(samples: Samples, phase: Phase, batch_size: int = 16) -> dict[str, Batch]:
    """Return the batches of the first step of a phase."""
    maker = BatchMaker(samples, ViewMaker(VIEWS, samples.pixels.channels), batch_size, torch.device("cpu"))
    return next(iter(maker.batches(phase, 0, 0)))


def tiny_trainer(
    samples: Samples,
    name: str = "lond-drs",
    *,
    settings: Any = None,
    folder: Path | None = None,
    test: Samples | None = None,
    optimiser: OptimiserSettings | None = None,
    runtime: Runtime | RuntimeSettings | None = None,
    **train: Any,
) -> Trainer:
    if not isinstance(runtime, Runtime):
        runtime = Runtime(runtime or RuntimeSettings(accelerator="cpu"))
    chosen = TrainSettings(**({"epochs": 2, "batch_size": 16, "average_last": 1} | train))
    return Trainer(
        tiny_method(samples, name, settings, chosen.seed),
        samples,
        ViewMaker(VIEWS, samples.pixels.channels),
        chosen,
        optimiser or OptimiserSettings(learning_rate=0.02, constant_epochs=1),
        runtime,
        test=test,
        folder=folder,
        show_progress=False,
    )
