"""Settings for runs on features of a frozen network: of any method, on a benchmark or on one's own data."""

from __future__ import annotations

from dataclasses import replace

from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.benchmarks import EXTENTS
from lond.data.feature_views import FeaturePixels
from lond.data.sources import load
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings
from lond.presets.recipes import FeatureRun, recipe_of
from lond.presets.recipes.lond_drs import short_settings
from lond.presets.scaling import occasion_of, shortened, slowed, step_limit
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings


def on_features(images: int, epochs: int = 9, seed: int = 0) -> RunConfig:
    """Return settings for LOND-DRS on precomputed features of the given number of images with unknown noise.

    A narrow trunk, few epochs and the witness's score; chosen on training images of CIFAR80N that were held out.

    Examples:
        >>> on_features(images=5000).train.epochs
        9
    """
    settings = short_settings(images, epochs)
    return RunConfig(
        data=DataSettings(source="features"),
        net=NetSettings("features", width=0.5),
        settings=settings,
        optimiser=OptimiserSettings(learning_rate=0.02, constant_epochs=settings.warmup_epochs),
        train=TrainSettings(epochs=epochs, batch_size=min(256, max(16, images // 20)), average_last=3, seed=seed),
    )


FROZEN_EPOCHS = 9
"""Epochs of every method on features of a frozen network."""


def on_frozen(config: RunConfig, epochs: int = FROZEN_EPOCHS, images: int = 0) -> RunConfig:
    """Return a configuration, of a preset or for your own data, that trains on features of a frozen network.

    A method is shortened as for any reduced preset and its rates grow with the batch; its recipe says what else changes
    (LOND-DRS takes the settings of ``on_features`` but identifies and mixes as the preset says, and scores by Eq. 15 on
    a benchmark; what needs images, such as the rotations of CIR+, is off) and limits the steps on a benchmark.

    Args:
        config: data, method and seed; a frozen network that it names already is kept.
        epochs: of every method.
        images: number of training images, few of which get smaller batches and fewer neighbours; 0 = those of one's
            own data are counted.

    Raises:
        ConfigError: there is no epoch left, or the data are features already.
        DataError: the source cannot be read.

    Examples:
        >>> from lond import preset
        >>> on_frozen(preset("cifar80n-sym50")).train.epochs
        9
    """
    data, method = config.data, config.method
    if epochs < 1:
        raise ConfigError(f"a run needs at least 1 epoch, not {epochs}")
    if not data.frozen.backbone:
        data = replace(data, frozen=replace(data.frozen, backbone=ExtractorSettings.backbone))
    images = images or _count(data)
    heads = replace(on_features(images, epochs, config.train.seed), data=data)
    recipe = recipe_of(method)(occasion_of(config))
    batch_size = heads.train.batch_size
    steps = 0 if data.source else step_limit(recipe, "frozen", images, batch_size)
    train = replace(config.train, epochs=epochs, batch_size=batch_size, average_last=3, max_steps=steps)
    short = shortened(config, heads)
    settings = recipe.on_features(short.settings, FeatureRun(images, epochs, bool(data.source)))
    batches = train.batch_size / short.train.batch_size
    as_heads = recipe.optimiser is None or recipe.trains_as_heads
    optimiser = heads.optimiser if as_heads else slowed(short.optimiser, batches)
    return replace(heads, method=method, settings=settings, optimiser=optimiser, train=train)


def _count(data: DataSettings) -> int:
    """Return the number of training images."""
    if not data.source:
        return EXTENTS[data.benchmark.name].images
    samples = load(data.source, options=data.read)
    if isinstance(samples.pixels, FeaturePixels):
        raise ConfigError(
            f"{samples.origin} holds features already; train on them as they are, without a frozen network"
        )
    return len(samples)
