"""Small trained runs to export."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import torch
from methods.test_on_features import clouds
from methods.tiny import VIEWS, default_settings, tiny_samples

from lond.config import NetSettings, RunConfig
from lond.methods import StandardSettings
from lond.runs import LoadedRun, Trained, train_samples
from lond.runs.calibration import calibrate_scores
from lond.train.loop import TrainSettings
from lond.train.runtime import RuntimeSettings
from lond.types import Samples

SAMPLES = tiny_samples(48)
FRESH = tiny_samples(13, seed=9)
CPU = RuntimeSettings("cpu", threads=1)


@cache
def trained(name: str = "standard", epochs: int = 2) -> Trained:
    """A run on tiny images, trained past its warm-up, calibrated, with a temperature."""
    config = RunConfig(
        net=NetSettings(width=0.125),
        views=VIEWS,
        method=name,
        settings=default_settings(name),
        train=TrainSettings(epochs=epochs, batch_size=16, average_last=1),
    )
    with warnings.catch_warnings():
        # So few images for so short a time may all be distrusted.
        warnings.simplefilter("ignore")
        return _calibrated(train_samples(config, SAMPLES, None, None, CPU, show_progress=False), SAMPLES)


@cache
def trained_on_features() -> Trained:
    """A run on features of two views."""
    config = RunConfig(
        net=NetSettings("features", width=0.1),
        method="standard",
        settings=StandardSettings(),
        train=TrainSettings(epochs=1, batch_size=16, average_last=1),
    )
    samples = clouds()
    return _calibrated(train_samples(config, samples, None, None, CPU, show_progress=False), samples)


def _calibrated(made: Trained, samples: Samples) -> Trained:
    scores = made.run.predict(samples).scores
    calibration = replace(calibrate_scores(scores, 0.2, "these"), temperature=1.7)
    return replace(made, run=replace(made.run, calibration=calibration))


def input_of(run: LoadedRun, samples: Samples = FRESH) -> torch.Tensor:
    """The graph's input for samples."""
    return torch.stack([samples.pixels.images[i] for i in range(len(samples))])  # type: ignore[attr-defined]
