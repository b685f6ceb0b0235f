"""Maps of test images as a trained network sees them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from lond.data.split import take
from lond.errors import DataError
from lond.layout_map import two_dimensions
from lond.presets.changes import with_root
from lond.runs.data import load_data
from lond.runs.trained import load_run
from lond.train.runtime import Runtime, RuntimeSettings
from lond.types import FOREIGN

CLASSES, OF_A_CLASS, FOREIGN_IMAGES = 10, 50, 250
"""What is drawn: so many classes, evenly spread, the first images of each, and the first foreign ones."""


@dataclass(frozen=True)
class EmbeddingMap:
    """Points ``(N, 2)`` with their labels; ``FOREIGN`` for images of no known class."""

    points: list[tuple[float, float]]
    labels: list[int]
    kind: str


def fixed_sample(labels: Tensor) -> Tensor:
    """Return the indices ``(M,)`` of the test images to draw, the same for every run on these labels ``(N,)``."""
    known = labels[labels >= 0].unique()
    places = torch.linspace(0, len(known) - 1, min(CLASSES, len(known))).round().long()
    chosen = [(labels == label).nonzero().squeeze(1)[:OF_A_CLASS] for label in known[places]]
    foreign = (labels == FOREIGN).nonzero().squeeze(1)[:FOREIGN_IMAGES]
    return torch.cat([*chosen, foreign])


def map_of(folder: Path, root: str, runtime_settings: RuntimeSettings | None = None) -> EmbeddingMap:
    """Return the map of a finished run's test images: t-SNE of its features, PCA without openTSNE.

    Raises:
        DataError: there is no trained run, or there are too few test images.
    """
    run = load_run(folder)
    test = load_data(with_root(run.config, "" if run.config.data.source else root))[1]
    if test is None:
        raise DataError("the run was trained without test data; there is nothing to draw")
    sample = take(test, fixed_sample(test.labels))
    points = two_dimensions(run.predict(run.read(sample), Runtime(runtime_settings)).features)
    if points is None:
        raise DataError(f"{test.origin} holds fewer than three images; there is nothing to draw")
    return EmbeddingMap(points, sample.labels.tolist(), "PCA" if find_spec("openTSNE") is None else "t-SNE")
