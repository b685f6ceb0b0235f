"""How long a run will take: steps of every phase are made on random images and timed, steps and epochs are counted.

All is timed on one thread in CPU time, of which other work on the machine takes nothing, and the fastest of several
counts: a busy moment must not make hours into years.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

import torch
from torch import Tensor

from lond.config import NetSettings, RunConfig
from lond.data.batches import count_steps
from lond.data.benchmarks import EXTENTS
from lond.data.feature_views import FeaturePixels
from lond.data.pixels import ArrayPixels
from lond.data.sources import load
from lond.presets.changes import without_weights
from lond.runs.build import FEATURES, build
from lond.runs.data import Shape, shape_of
from lond.seeds import generator, own_random_state
from lond.train.loop import Trainer
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import Clock, Phase, Pixels, Request, Samples

FEATURE_SIZE = 1280
"""Length of the features of the usual frozen network."""

LARGEST_SIDE = 96
"""Larger images are timed at this side in pixels; the time goes with the area."""

ROWS = (800, 1600)
"""Samples of two rehearsals: from one to the other searches take four times as long, the rest twice."""

CLASSES, RIGHT, STEPS = 10, 0.5, 2
"""Most classes of the samples, share of their labels that are right, and steps of which the fastest counts."""

SMALLEST_BATCH, STEP_SECONDS, PASSES = 4, 0.3, 30
"""A slow network is timed on smaller batches: a step of so many forward passes shall take about so long."""

ENOUGH = 0.5
"""Seconds from which a step is timed once."""

EVALUATED = 0.2
"""Images that an epoch is evaluated on, as a share of the training images."""

START = 1.0
"""Seconds that a run takes besides its epochs."""


@dataclass(frozen=True)
class Amount:
    """How many images a run learns from, and what they are like."""

    images: int
    shape: Shape


def amount_of(config: RunConfig) -> Amount:
    """Return what a run learns from; files of one's own are listed, those of a benchmark need not be there.

    Raises:
        DataError: the source cannot be read.
    """
    data = config.data
    if data.source:
        samples = load(data.source, options=data.read)
        shape, images = shape_of(samples), round((1 - data.hold_out) * len(samples))
    else:
        extent = EXTENTS[data.benchmark.name]
        side, images = extent.side or data.benchmark.image_size, extent.images + data.benchmark.open_images
        shape = Shape(tuple(map(str, range(extent.classes))), extent.channels, (side, side))
    return Amount(images, replace(shape, channels=1, size=(1, FEATURE_SIZE)) if data.frozen.backbone else shape)


@dataclass(frozen=True)
class Timed:
    """A phase, whose ``lead`` is a share of the last of ``ROWS``, with what a step costs in seconds."""

    phase: Phase
    update: float
    """Of the weights, however large the batch."""
    sample: float
    """The rest, for a sample of the batch."""


@dataclass(frozen=True)
class Epoch:
    """What an epoch costs in seconds: the steps of each phase, and what passes for each sample and each pair."""

    phases: tuple[Timed, ...]
    sample: float
    pair: float

    def seconds(self, config: RunConfig, images: int) -> float:
        """Return the seconds of an epoch of so many images."""
        train, passing = config.train, images * self.sample + images**2 * self.pair
        for timed in self.phases:
            phase = timed.phase
            lead = round(phase.lead * images / ROWS[-1])
            steps = phase.steps or max(1, count_steps(lead, max(2, round(phase.share * train.batch_size))))
            limit = steps if phase.is_warmup or not train.max_steps else train.max_steps
            passing += min(steps, limit) * (timed.update + train.batch_size * timed.sample)
        return passing


@dataclass(frozen=True)
class Rehearsal:
    """What is timed; runs that differ in other settings alone are taken to be equally fast."""

    method: str
    net: NetSettings
    shape: Shape
    accelerator: str
    config: RunConfig = field(compare=False)


def run_seconds(config: RunConfig, amount: Amount, runtime: RuntimeSettings) -> float:
    """Return roughly how many seconds a run takes; threads and processes are taken to share the work evenly."""
    accelerator, parts = runtime.accelerator, runtime.devices * runtime.num_nodes
    first, last, predicted = rehearse(Rehearsal(config.method, config.net, amount.shape, accelerator, config))
    epochs, images = config.train.epochs, amount.images
    warmup = min(epochs, getattr(config.settings, "warmup_epochs", 0))
    work = warmup * first.seconds(config, images) + (epochs - warmup) * last.seconds(config, images)
    work += epochs * EVALUATED * images * predicted
    return START + work / (parts * threads_of(runtime) if device_of(accelerator) == "cpu" else parts)


@lru_cache
def rehearse(what: Rehearsal) -> tuple[Epoch, Epoch, float]:
    """Return what the first and the last epoch cost, and the seconds that the prediction of an image takes."""
    config, shape, area = without_weights(what.config), what.shape, 1.0
    if min(shape.size) > LARGEST_SIDE:
        area = shape.size[0] * shape.size[1] / LARGEST_SIDE**2
        shape = replace(shape, size=(LARGEST_SIDE, LARGEST_SIDE))
    with _one_thread(), closing(Runtime(RuntimeSettings(what.accelerator))) as runtime:
        many = Stage(config, shape, ROWS[1], runtime)
        numbers = (0, config.train.epochs - 1)
        measured = [many.epoch(number) for number in numbers]
        # Only what surveys the samples may compare them with each other.
        few = Stage(config, shape, ROWS[0], runtime) if any(epoch.surveyed for epoch in measured) else many
        first, last = (
            _cost(epoch, few.between(number), many.between(number), area)
            for number, epoch in zip(numbers, measured, strict=True)
        )
    return first, last, area * many.predicted


def _cost(measured: Measured, short: float, long: float, area: float) -> Epoch:
    """Return what an epoch costs; besides steps and surveys a n + b n^2 seconds pass for n samples.

    Args:
        measured: an epoch of many samples.
        short: seconds that pass between steps for each of few samples.
        long: the same for each of many.
        area: of the images, in those that were timed.
    """
    phases = tuple(replace(timed, sample=area * timed.sample) for timed in measured.phases)
    pair = max(0.0, (long - short) / (ROWS[1] - ROWS[0]))
    return Epoch(phases, area * measured.surveyed + max(0.0, long - pair * ROWS[1]), pair)


@dataclass(frozen=True)
class Measured:
    """One epoch of a rehearsal: its phases, and what passes in between."""

    phases: tuple[Timed, ...]
    surveyed: float
    """Seconds that all surveys take for one sample."""
    between: float
    """Seconds besides surveys and steps, for all samples."""


class Stage:
    """A method with samples of few classes, one image a class; half of the labels are not of the class shown."""

    def __init__(self, config: RunConfig, shape: Shape, rows: int, runtime: Runtime) -> None:
        """Build the method, and choose the largest batch that steps can be timed with."""
        self.clock = time.process_time if runtime.device.type == "cpu" else time.perf_counter
        shape = replace(shape, class_names=shape.class_names[:CLASSES])
        self.random, self.classes = generator(0, "rehearsal"), len(shape.class_names)
        labels = torch.arange(rows) % self.classes
        wrong = torch.randint(self.classes, (rows,), generator=self.random)
        self.shown = torch.where(torch.rand(rows, generator=self.random) < RIGHT, labels, wrong)
        values = torch.rand(self.classes, shape.channels, *shape.size, generator=self.random)
        if config.net.backbone == FEATURES:
            pixels: Pixels = FeaturePixels(values.squeeze(2)[self.shown].half())
        else:
            pixels = ArrayPixels(values.mul(255).to(torch.uint8)[self.shown])
        samples = Samples(pixels, labels, shape.class_names, tuple(map(str, range(rows))))
        self.method, views = build(config, shape, labels)
        self.method.to(runtime.device).eval()
        raw = next(iter(pixels.stream([Request(torch.arange(self.classes))])))[0]
        self.images = views.test(raw.to(runtime.device))
        self.predicted = min(self._timed(self.method.predict) for _ in range(STEPS)) / self.classes
        fitting = int(STEP_SECONDS / max(1e-9, PASSES * self.predicted))
        self.batch_size = min(config.train.batch_size, max(SMALLEST_BATCH, fitting))
        settings = replace(config.train, batch_size=self.batch_size, max_steps=0)
        self.trainer = Trainer(self.method, samples, views, settings, config.optimiser, runtime, show_progress=False)

    def _timed(self, describe: Callable[[Tensor], object]) -> float:
        began = self.clock()
        with torch.no_grad():
            describe(self.images)
        return self.clock() - began

    def epoch(self, number: int, steps: int = STEPS) -> Measured:
        """Return what an epoch of this number costs; so many steps of each phase are made."""
        measured, surveyed, aside = [], 0.0, 0.0

        def survey(describe: Callable[[Tensor], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
            nonlocal surveyed, aside
            began = self.clock()
            self.method.eval()
            with torch.no_grad():
                found = describe(self.images)
            surveyed += (self.clock() - began) / len(self.images)
            answers = tuple(self._as_if_trained(part).float() for part in found)
            aside += self.clock() - began
            return answers

        began = self.clock()
        for phase in self.method.before_epoch(number, survey):
            begun = self.clock()
            measured.append(self._step(phase, number, steps))
            aside += self.clock() - begun
        self.method.after_epoch(number, lambda table: table)
        return Measured(tuple(measured), surveyed, max(0.0, self.clock() - began - aside))

    def _as_if_trained(self, part: Tensor) -> Tensor:
        """Return the answers on all samples from those ``(C, ...)`` on each class, as if the network knew these.

        Where there is a column a class, the largest value is put into that of the class shown; whole numbers are
        classes; other vectors are moved apart by class. So a method finds samples that it trusts, and others, as it
        will after warm-up.
        """
        shown = self.shown.to(part.device)
        rows = part[shown]
        if rows.ndim != 2:
            return rows if part.is_floating_point() else shown
        if rows.shape[1] == self.classes:
            shift = (shown - rows.argmax(dim=1))[:, None]
            return rows.gather(1, (torch.arange(self.classes, device=part.device) - shift) % self.classes)
        apart = torch.randn(self.classes, rows.shape[1], generator=self.random).to(part.device)
        return rows + 0.1 * rows.std() * apart[shown]

    def between(self, number: int) -> float:
        """Return the seconds besides surveys and steps for one sample; the fastest of a few epochs without steps."""
        return min(self.epoch(number, 0).between for _ in range(STEPS)) / len(self.shown)

    def _step(self, phase: Phase, epoch: int, steps: int) -> Timed:
        """Return what the fastest of a few steps costs, with the making of its batches; one is enough if it is slow."""
        self.method.train()
        random, taken = generator(0, "step"), list[float]()
        batches = self.trainer.batches.batches(phase, 0, epoch)
        for _ in range(steps):
            began = self.clock()
            made = next(batches, None)
            if made is not None and (not taken or taken[0] < ENOUGH):
                losses = self.trainer.step(phase, made, Clock(epoch), random)
                # The value is read back, so that a device that works ahead has really ended.
                float(losses["loss"])
                taken.append(self.clock() - began)
        if not taken:
            return Timed(phase, 0.0, 0.0)
        began = self.clock()
        self.trainer.optimiser.step()
        update = min(self.clock() - began, min(taken))
        return Timed(phase, update, (min(taken) - update) / self.batch_size)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep threads from waiting for each other in CPU time, which would be counted, and methods from warning."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with own_random_state(0, "estimate"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(before)


def threads_of(runtime: RuntimeSettings) -> int:
    """Return the threads of a process: as many as asked for, or as PyTorch takes, but no more than there are cores."""
    return min(runtime.threads or torch.get_num_threads(), cores())


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
