"""The data of a run: training and test set at one size, decoded where they fit into memory."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lond.config import RunConfig
from lond.data.benchmarks import Benchmark, load_benchmark
from lond.data.feature_views import is_features
from lond.data.options import ReadOptions
from lond.data.read.files import load_into_memory
from lond.data.sources import has_split, load
from lond.data.split import hold_out, take
from lond.data.squares import unreadable
from lond.data.two_classes import check_two_classes
from lond.device import choose_device
from lond.errors import ConfigError, DataError
from lond.frozen.read import FeatureReader
from lond.frozen.samples import FrozenSettings, as_features
from lond.progress.work import work_here
from lond.train.runtime import RuntimeSettings
from lond.types import Problem, Samples

MEMORY_LIMIT = 2 * 2**30
"""Image files are held decoded in memory if they need at most this many bytes."""


@dataclass(frozen=True)
class Shape:
    """Shape of the data that a network needs to know.

    Examples:
        >>> Shape(("cat", "dog"), channels=3, size=(64, 64)).channels
        3
    """

    class_names: tuple[str, ...]
    channels: int
    size: tuple[int, int]


def load_data(
    config: RunConfig, runtime: RuntimeSettings | None = None, *, show_progress: bool | None = None
) -> tuple[Samples, Samples | None, dict[str, Any]]:
    """Return the training set, test set (if any) and manifest of a configuration.

    With ``data.frozen`` the pixels are features, computed on the runtime's device unless they are kept already.

    Raises:
        ConfigError: features of a frozen network are wanted of what are features already.
        DataError: the data cannot be read.

    Examples:
        >>> from lond import preset
        >>> train, test, manifest = load_data(preset("digits"))
        >>> len(train), len(test)
        (1198, 599)
    """
    train, test, noise = open_data(config)
    return *ready_data(config, train, test, runtime, show_progress=show_progress), noise


def ready_data(
    config: RunConfig,
    train: Samples,
    test: Samples | None,
    runtime: RuntimeSettings | None,
    *,
    show_progress: bool | None = None,
) -> tuple[Samples, Samples | None]:
    """Return opened sets as a run learns from them: as features of its frozen network, or held in memory.

    Raises:
        ConfigError: features of a frozen network are wanted of what are features already.
    """

    def ready(samples: Samples, what: str = "") -> Samples:
        frozen = config.data.frozen
        if frozen.backbone and is_features(samples.pixels):
            raise ConfigError(
                f"{samples.origin} holds features already, which no frozen network can look at: leave out data.frozen"
            )
        if frozen.backbone:
            return _features(samples, frozen, Path(frozen.cache), runtime, show_progress, what)
        return in_memory(samples) if config.data.source else samples

    return ready(train), None if test is None else ready(test, " the test images")


def open_data(config: RunConfig) -> tuple[Samples, Samples | None, dict[str, Any]]:
    """Return the same as ``load_data``, but images as they lie in their files: features are not computed yet.

    Raises:
        DataError: the data cannot be read.
    """
    data, frozen = config.data, config.data.frozen
    if not data.source:
        benchmark: Benchmark = load_benchmark(data.benchmark)
        return benchmark.train, benchmark.test, benchmark.manifest
    train = load(data.source, options=data.read)
    # A frozen network takes images of any shape.
    options = data.read if frozen.backbone else reading_at(shape_of(train), data.read)
    test = None
    test_source = data.test_source or (data.source if has_split(data.source, "test", options) else "")
    if test_source:
        split = "test" if has_split(test_source, "test", options) else "train"
        test = load(test_source, split, class_names=train.class_names, options=options)
    return train, test, {"noise": "the data's own; rates unknown"}


def new_features(samples: Samples, frozen: FrozenSettings, runtime: RuntimeSettings | None) -> Samples:
    """Return the features of images that a trained run is asked about; features are taken as they are.

    They are kept only where the run's cache is: to ask a run that was moved leaves no files behind.
    """
    if is_features(samples.pixels):
        return samples
    cache = Path(frozen.cache)
    return _features(samples, frozen, cache if cache.is_dir() and os.access(cache, os.W_OK) else None, runtime)


def _features(
    samples: Samples,
    frozen: FrozenSettings,
    cache: Path | None,
    runtime: RuntimeSettings | None,
    show_progress: bool | None = None,
    what: str = "",
) -> Samples:
    """Return the features of images; ``what`` says of which, behind the name of the step."""
    runtime = runtime or RuntimeSettings()
    with work_here("features", show=show_progress) as work:
        device = choose_device(runtime.accelerator, runtime.threads)
        reader = FeatureReader(cache, device, lambda step: work.part(step + what))
        return as_features(samples, frozen, reader)


@dataclass(frozen=True)
class HeldOutSplit:
    """The samples that are learned from, and the indices of these and of the held-out ones."""

    learned_from: Samples
    kept: Tensor
    held: Tensor


def divide(config: RunConfig, samples: Samples) -> HeldOutSplit:
    """Hold out the share of the samples that the configuration asks for."""
    kept, held = hold_out(samples.labels, config.data.hold_out, config.data.split_seed)
    return HeldOutSplit(take(samples, kept) if len(held) else samples, kept, held)


def in_memory(samples: Samples) -> Samples:
    """Return the samples decoded in memory, if they are small enough.

    Those known to be unreadable, which are all once they are decoded, are left out and listed in ``problems``.

    Raises:
        DataError: none of the images can be decoded.

    Examples:
        >>> import numpy as np
        >>> from lond.data.sources import load
        >>> samples = load((np.zeros((4, 8, 8, 3), dtype=np.uint8), ["cat", "dog", "cat", "dog"]))
        >>> len(in_memory(samples))
        4
    """
    pixels = samples.pixels
    needed = len(pixels) * pixels.channels * pixels.size[0] * pixels.size[1]
    fits = pixels.crops_on_read and needed <= MEMORY_LIMIT
    samples = replace(samples, pixels=load_into_memory(pixels) if fits else pixels)
    faults = unreadable(pixels)
    if not faults:
        return samples
    kept = torch.tensor([index for index in range(len(samples)) if index not in faults], dtype=torch.long)
    if not len(kept):
        raise DataError(f"none of the {len(samples)} images of {samples.origin} can be read")
    problems = samples.problems + tuple(Problem(samples.ids[index], reason) for index, reason in faults.items())
    return take(replace(samples, problems=problems), kept)


def reading_at(shape: Shape, options: ReadOptions) -> ReadOptions:
    """Return the options that bring other images to the shape of the training images (only arrays are not square)."""
    height, width = shape.size
    return replace(options, size=height if height == width else None, channels=shape.channels)


def check_fits(samples: Samples, shape: Shape) -> None:
    """Refuse images that the network was not built for."""
    found, wanted = (samples.pixels.channels, *samples.pixels.size), (shape.channels, *shape.size)
    if found != wanted:
        raise DataError(
            f"the images of {samples.origin} have (channels, height, width) = {found}; the training images had {wanted}"
        )


def check_trainable(samples: Samples, test: Samples | None) -> None:
    """Refuse a data set that nothing can be learned from.

    Raises:
        DataError: fewer than two classes or two labelled images, or test images of another shape.
    """
    check_two_classes(samples, "a classifier needs")
    if int((samples.labels >= 0).sum()) < 2:
        raise DataError(f"{samples.origin} has fewer than two labelled images")
    if test is not None:
        check_fits(test, shape_of(samples))


def shape_of(samples: Samples) -> Shape:
    """Return the shape of the samples that a network needs to know.

    Examples:
        >>> import numpy as np
        >>> from lond.data.sources import load
        >>> samples = load((np.zeros((4, 8, 8, 3), dtype=np.uint8), ["cat", "dog", "cat", "dog"]))
        >>> shape_of(samples)
        Shape(class_names=('cat', 'dog'), channels=3, size=(8, 8))
    """
    return Shape(samples.class_names, samples.pixels.channels, samples.pixels.size)
