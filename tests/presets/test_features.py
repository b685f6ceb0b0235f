"""Settings for runs on features of a frozen network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lond.errors import ConfigError, DataError
from lond.presets.benchmarks import preset
from lond.presets.features import FROZEN_EPOCHS, on_features, on_frozen
from lond.presets.own_data import own_data


@pytest.mark.parametrize(
    ("images", "batch", "neighbours"), [(5, 16, 1), (400, 20, 40), (2000, 100, 80), (50_000, 256, 80)]
)
def test_few_images_get_small_batches_and_few_neighbours(images: int, batch: int, neighbours: int) -> None:
    config = on_features(images, epochs=9, seed=3)
    assert (config.train.batch_size, config.settings.identify.neighbours) == (batch, neighbours)
    assert (config.net.backbone, config.train.epochs, config.train.seed) == ("features", 9, 3)
    assert config.settings.warmup_epochs == config.optimiser.constant_epochs == 3


def test_a_benchmark_keeps_its_noise_and_takes_the_published_score() -> None:
    plain = preset("cifar80n-sym80")
    config = on_frozen(plain)
    assert config.data.benchmark == plain.data.benchmark
    assert (config.net.backbone, config.data.frozen.backbone) == ("features", "efficientnet-lite0")
    assert (config.train.epochs, config.train.max_steps) == (FROZEN_EPOCHS, 100)
    assert config.settings.identify.top == plain.settings.identify.top == 3
    assert not config.settings.witness


def test_data_of_ones_own_are_counted_and_not_limited(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=np.zeros((600, 8, 8, 3), np.uint8), y=np.arange(600) % 2)
    config = on_frozen(own_data(str(tmp_path / "own.npz")))
    assert (config.train.batch_size, config.train.max_steps, config.settings.witness) == (30, 0, True)
    assert on_frozen(config, images=2000).train.batch_size == 100


def test_a_frozen_network_that_is_named_already_stays() -> None:
    plain = preset("digits")
    named = replace(plain, data=replace(plain.data, frozen=replace(plain.data.frozen, backbone="timm:resnet18")))
    assert on_frozen(named).data.frozen.backbone == "timm:resnet18"


def test_the_rates_of_a_method_grow_with_the_batch() -> None:
    """Its published 128 images a step become 256."""
    plain = preset("cifar80n-sym50", "sed")
    config = on_frozen(plain, images=50_000)
    assert (plain.train.batch_size, config.train.batch_size) == (128, 256)
    assert config.optimiser.learning_rate == pytest.approx(2 * plain.optimiser.learning_rate)


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a run needs at least 1 epoch, not 0"):
        on_frozen(preset("digits"), epochs=0)
    np.savez(tmp_path / "own.npz", embeddings=np.zeros((40, 6)), y=np.arange(40) % 2)
    with pytest.raises(ConfigError, match="holds features already; train on them as they are"):
        on_frozen(own_data(str(tmp_path / "own.npz")))
    digits = preset("digits")
    missing = replace(digits, data=replace(digits.data, source=str(tmp_path / "missing")))
    with pytest.raises(DataError, match="missing"):
        on_frozen(missing)
