"""A small world of made-up features, in place of the data that is not part of the repository."""

from __future__ import annotations

import numpy as np
from benchmarks.noise_bench.opinion import Task
from benchmarks.noise_bench.sources import Images, World

SIZE = 24


def clusters(labels: np.ndarray, seed: int, spread: float = 0.6) -> Images:
    """Return features around one centre per class."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(int(labels.max()) + 1, SIZE))
    return Images((centres[labels] + spread * random.normal(size=(len(labels), SIZE))).astype(np.float32), labels)


def small_world() -> World:
    """Return a world with 20 superclasses of 5 classes, 20 training and 6 test images each."""
    labels = np.tile(np.arange(100), 20)
    tiny = np.tile(np.arange(60), 20)
    random = np.random.default_rng(5)
    index = np.flatnonzero(labels < 60)
    human = np.where(random.random(len(index)) < 0.3, random.integers(0, 50, len(index)), labels[index])
    keep = human < 50
    return World(
        clusters(labels, 0),
        clusters(np.tile(np.arange(100), 6), 1),
        clusters(tiny, 2),
        clusters(np.tile(np.arange(60), 6), 3),
        clusters(random.permutation(np.tile(np.arange(10), 60)), 4),
        clusters(np.tile(np.arange(10), 40), 5),
        np.arange(100) // 5,
        tuple(f"class{number}" for number in range(100)),
        index[keep],
        human[keep],
    )


def task(classes: int = 3, each: int = 30, wrong: float = 0.2, seed: int = 0) -> tuple[Task, np.ndarray]:
    """Return a task of clusters with uniform noise, and its true labels."""
    true = np.repeat(np.arange(classes), each)
    random = np.random.default_rng(seed)
    flipped = random.random(len(true)) < wrong
    given = np.where(flipped, (true + random.integers(1, classes, len(true))) % classes, true)
    return Task(clusters(true, seed).features, given, classes, clusters(true, seed + 1).features), true
