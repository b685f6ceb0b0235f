"""Every method trains on features of a frozen network as it does on images."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from methods.tiny import default_settings

from lond.config import NetSettings, RunConfig
from lond.data.feature_views import FeaturePixels
from lond.methods import METHODS
from lond.runs import train_samples
from lond.train.loop import TrainSettings
from lond.train.runtime import RuntimeSettings
from lond.train.schedule import OptimiserSettings
from lond.types import Samples


def clouds(count: int = 60, classes: int = 3, views: int = 2) -> Samples:
    """Points around one centre a class, two views each; a fifth has the next class's label."""
    random = torch.Generator().manual_seed(0)
    true = torch.arange(count) % classes
    centres = torch.randn(classes, 1, 8, generator=random) * 4
    values = centres[true] + torch.randn(count, views, 8, generator=random)
    given = torch.where(torch.arange(count) % 5 == 0, (true + 1) % classes, true)
    ids = tuple(map(str, range(count)))
    return Samples(FeaturePixels(values), given, tuple("abc"[:classes]), ids, true)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_from_features(name: str, tmp_path) -> None:
    settings = default_settings(name)
    if name == "cir-plus":
        settings = replace(settings, rotation_weight=0.0)
    config = RunConfig(
        net=NetSettings("features", width=0.0625),
        method=name,
        settings=settings,
        optimiser=OptimiserSettings(learning_rate=0.02, constant_epochs=9),
        train=TrainSettings(epochs=6, batch_size=16, average_last=1),
    )
    samples = clouds()
    truth = samples.with_labels(samples.true_labels, samples.true_labels)
    trained = train_samples(config, samples, truth, tmp_path / "run", RuntimeSettings("cpu", threads=1))
    metrics = trained.result.metrics
    assert math.isfinite(metrics["loss"])
    assert metrics["accuracy"] > 0.8
    assert len(trained.verdicts["verdict"]) == len(samples)
