"""Benchmarks by name: training set with noisy labels, test set, and the manifest of the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lond.data.noise import NoiseSettings, add_noise, known_classes, rates
from lond.data.pixels import ArrayPixels
from lond.data.read.cifar import CifarImages, read_cifar10, read_cifar100
from lond.data.read.files import load_into_memory
from lond.data.sources import has_split, load
from lond.data.split import take
from lond.errors import ConfigError, DataError
from lond.types import FOREIGN, Samples

TAKE_OPEN_IMAGES = ("cifar10n", "cifar100n")
"""Benchmarks that images of another source can be added to."""

OPEN_TEST_IMAGES = 10_000
"""Foreign test images when open-set images come from another source."""


@dataclass(frozen=True)
class BenchmarkSettings:
    """Which benchmark, where its files are, and the noise on its labels.

    Examples:
        >>> BenchmarkSettings("cifar80n", root="data").noise.closed_rate
        0.2
    """

    name: str = "cifar80n"
    root: str = "data"
    """Folder with the data set's own files."""
    noise: NoiseSettings = NoiseSettings()
    """The kind and rate of the noise; the benchmark decides on the open ratio."""
    open_source: str = ""
    """CIFAR10N and CIFAR100N only: a folder, table or .npz file of open-set images (TinyImageNet, Places-365, ...)."""
    open_images: int = 0
    """How many of them go into the training set; 10,000 of the rest go into the test set."""
    train_on_unknown: bool = True
    """False leaves images of unknown classes out of the training set, after the noise was drawn; the test set stays."""
    image_size: int = 448
    """Side in pixels of the web sets' images."""


@dataclass(frozen=True)
class Extent:
    """How much a benchmark holds, known without its files: images, known classes and the shape of an image.

    Examples:
        >>> Extent(images=50_000, test_images=10_000, classes=80).side
        32
    """

    images: int
    """To train on, without those of another source."""
    test_images: int
    classes: int
    channels: int = 3
    side: int | None = 32
    """In pixels; None = the setting ``image_size``."""


EXTENTS: dict[str, Extent] = {
    "cifar10n": Extent(50_000, 10_000, 10),
    "cifar80n": Extent(50_000, 10_000, 80),
    "cifar100n": Extent(50_000, 10_000, 100),
    "mini80": Extent(10_000, 2_000, 16, side=16),
    "digits": Extent(1_198, 599, 8, channels=1, side=16),
    "web-aircraft": Extent(13_503, 3_333, 100, side=None),
    "web-bird": Extent(18_388, 5_794, 200, side=None),
    "web-car": Extent(21_448, 8_041, 196, side=None),
}
"""Benchmark -> its extent."""


@dataclass(frozen=True)
class Benchmark:
    """A loaded benchmark.

    Examples:
        >>> loaded = load_benchmark(BenchmarkSettings("digits", noise=NoiseSettings(open_ratio=0.2)))
        >>> len(loaded.train), len(loaded.test)
        (1198, 599)
    """

    train: Samples
    test: Samples
    manifest: dict[str, Any]


def load_benchmark(settings: BenchmarkSettings) -> Benchmark:
    """Load a benchmark by name.

    Raises:
        ConfigError: the name is unknown, or the benchmark lacks what a setting is about.
        DataError: files are missing; the message says where to get them and where to put them.

    Examples:
        >>> loaded = load_benchmark(BenchmarkSettings("digits", noise=NoiseSettings(open_ratio=0.2)))
        >>> loaded.train.class_names
        ('0', '1', '2', '3', '4', '5', '6', '7')
    """
    if settings.name not in BENCHMARKS:
        raise ConfigError(f"benchmark {settings.name!r} is unknown; choose one of: {', '.join(BENCHMARKS)}")
    if settings.open_images and settings.name not in TAKE_OPEN_IMAGES:
        raise ConfigError(f"open_images works with {' and '.join(TAKE_OPEN_IMAGES)}, not with {settings.name}")
    benchmark = BENCHMARKS[settings.name](settings)
    return benchmark if settings.train_on_unknown else _without_unknown(benchmark, settings)


def _without_unknown(benchmark: Benchmark, settings: BenchmarkSettings) -> Benchmark:
    """Leave the images of unknown classes out of the training set; the others keep their ids and labels."""
    truth = benchmark.train.true_labels
    if truth is None or not (truth == FOREIGN).any():
        lacks = "no known truth" if truth is None else "no images of unknown classes in its training set"
        raise ConfigError(f"train_on_unknown=false has nothing to leave out: {settings.name} has {lacks}")
    train = take(benchmark.train, (truth != FOREIGN).nonzero().squeeze(1))
    assert train.true_labels is not None
    left = rates(train.labels, train.true_labels, settings.noise.closed_rate)
    return replace(benchmark, train=train, manifest=benchmark.manifest | left | {"train_on_unknown": False})


def _cifar(read: Callable[[Path, str], CifarImages], open_ratio: float) -> Callable[[BenchmarkSettings], Benchmark]:
    def build(settings: BenchmarkSettings) -> Benchmark:
        root = Path(settings.root)
        train, test = read(root, "train"), read(root, "test")
        benchmark = _with_noise(train, test, replace(settings.noise, open_ratio=open_ratio), settings.name)
        return _with_open_images(benchmark, settings) if settings.open_images else benchmark

    return build


def _with_noise(train: CifarImages, test: CifarImages, noise: NoiseSettings, name: str) -> Benchmark:
    """Put noise on the training labels; in the test set unknown classes become foreign."""
    total = len(train.class_names)
    noisy = add_noise(train.labels, total, noise)
    known = known_classes(total, noise.open_ratio)
    names = tuple(train.class_names[:known])
    truth = torch.where(test.labels < known, test.labels, FOREIGN)
    return Benchmark(
        _samples(train.images, noisy.labels, names, noisy.true_labels, f"{name}/train"),
        _samples(test.images, truth, names, truth, f"{name}/test"),
        noisy.manifest,
    )


def _samples(images: Tensor, labels: Tensor, names: tuple[str, ...], truth: Tensor, origin: str) -> Samples:
    ids = tuple(f"{origin}/{index:05d}" for index in range(len(images)))
    return Samples(ArrayPixels(images), labels, names, ids, truth, origin)


def _with_open_images(benchmark: Benchmark, settings: BenchmarkSettings) -> Benchmark:
    """Add images of another source: some to train on under random known labels, 10,000 others to test on."""
    if not settings.open_source:
        raise ConfigError("open_images needs open_source: a folder, a table or an .npz file of open-set images")
    pool = _open_pool(settings.open_source, benchmark.train.pixels.size[0])
    needed = settings.open_images + OPEN_TEST_IMAGES
    if len(pool) < needed:
        raise DataError(
            f"{settings.open_source} holds {len(pool)} images; {needed} are needed (training + 10,000 test)"
        )
    random = np.random.RandomState(settings.noise.seed)
    order = torch.from_numpy(random.permutation(len(pool)))
    labels = torch.from_numpy(random.randint(benchmark.train.num_classes, size=settings.open_images))
    train = _extended(benchmark.train, pool[order[: settings.open_images]], labels)
    held_out = pool[order[settings.open_images : needed]]
    test = _extended(benchmark.test, held_out, torch.full((len(held_out),), FOREIGN))
    assert train.true_labels is not None
    counts = {"train": settings.open_images, "test": len(held_out), "source": Path(settings.open_source).name}
    updated = rates(train.labels, train.true_labels, settings.noise.closed_rate)
    manifest = benchmark.manifest | updated | {"open_images": counts}
    return Benchmark(train, test, manifest)


def _open_pool(source: str, size: int) -> Tensor:
    """Return all images of all splits as one uint8 tensor, at the benchmark's size."""
    images = []
    for split in ("train", "test"):
        if has_split(source, split):
            pixels = load(source, split, size=size, class_names=()).pixels
            held = pixels if isinstance(pixels, ArrayPixels) else load_into_memory(pixels)
            images.append(held.images.expand(-1, 3, -1, -1))
    return torch.cat(images)


def _extended(samples: Samples, images: Tensor, labels: Tensor) -> Samples:
    assert isinstance(samples.pixels, ArrayPixels)
    ids = tuple(f"{samples.origin}/open/{index:05d}" for index in range(len(images)))
    truth = samples.true_labels
    assert truth is not None
    return replace(
        samples,
        pixels=ArrayPixels(torch.cat([samples.pixels.images, images])),
        labels=torch.cat([samples.labels, labels]),
        true_labels=torch.cat([truth, torch.full((len(images),), FOREIGN)]),
        ids=samples.ids + ids,
    )


def _mini80(settings: BenchmarkSettings) -> Benchmark:
    """Return CIFAR80N in small: classes 0-19 of CIFAR-100 (16-19 unknown), averaged 2x2 to 16x16 pixels."""
    train, test = (reduced(read_cifar100(Path(settings.root), split)) for split in ("train", "test"))
    return _with_noise(train, test, replace(settings.noise, open_ratio=0.2), "mini80")


def reduced(split: CifarImages, classes: int = 20) -> CifarImages:
    """Return the images of the first classes, averaged 2x2 to 16x16 pixels.

    Examples:
        >>> images = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
        >>> few = reduced(CifarImages(images, torch.tensor([3, 30]), tuple(map(str, range(100)))))
        >>> few.images.shape, few.labels.tolist()
        (torch.Size([1, 3, 16, 16]), [3])
    """
    kept = split.labels < classes
    blocks = split.images[kept].short().unflatten(3, (16, 2)).unflatten(2, (16, 2))
    images = ((blocks.sum(dim=(3, 5)) + 2) // 4).to(torch.uint8)
    return CifarImages(images, split.labels[kept], split.class_names[:classes])


def _digits(settings: BenchmarkSettings) -> Benchmark:
    """Return scikit-learn's 1,797 handwritten digits, doubled to 16x16: two thirds to train, 8 and 9 unknown."""
    # Imported here: it takes a second, which only this benchmark is worth.
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = torch.from_numpy((digits.images * (255 / 16)).round().astype(np.uint8))[:, None]
    images = images.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
    labels = torch.from_numpy(digits.target.astype(np.int64))
    order = torch.from_numpy(np.random.RandomState(settings.noise.seed).permutation(len(labels)))
    cut = 2 * len(labels) // 3
    names = tuple(str(digit) for digit in range(10))
    train, test = (CifarImages(images[part], labels[part], names) for part in (order[:cut], order[cut:]))
    return _with_noise(train, test, replace(settings.noise, open_ratio=0.2), "digits")


def _web(settings: BenchmarkSettings) -> Benchmark:
    source, classes = Path(settings.root) / settings.name, EXTENTS[settings.name].classes
    if not (source.is_dir() and has_split(source, "train") and has_split(source, "test")):
        raise DataError(
            f"there is no folder {source} with train/ and val/. Get {settings.name} of the WebFG-496 data (the "
            "authors' page: https://github.com/NUST-Machine-Intelligence-Laboratory/weblyFG-dataset) and unpack it so "
            f"that {source}/train and {source}/val hold one folder a class."
        )
    train = load(source, "train", size=settings.image_size)
    test = load(source, "test", size=settings.image_size, class_names=train.class_names)
    if train.num_classes != classes:
        raise DataError(f"{source}/train holds {train.num_classes} class folders; {settings.name} has {classes}")
    return Benchmark(train, test, {"noise": "the web's own; rates unknown"})


BENCHMARKS: dict[str, Callable[[BenchmarkSettings], Benchmark]] = {
    "cifar10n": _cifar(read_cifar10, open_ratio=0.0),
    "cifar80n": _cifar(read_cifar100, open_ratio=0.2),
    "cifar100n": _cifar(read_cifar100, open_ratio=0.0),
    "mini80": _mini80,
    "digits": _digits,
    "web-aircraft": _web,
    "web-bird": _web,
    "web-car": _web,
}
"""Benchmarks by name; CIFAR10N and CIFAR100N carry synthetic noise, unlike the human-annotated sets of these names."""
