"""Settings for runs on features of a frozen network: of any method, on a benchmark or on one's own data."""

from __future__ import annotations

from dataclasses import replace

from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.feature_views import FeaturePixels
from lond.data.sources import load
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings
from lond.methods import LondDrsSettings
from lond.presets.benchmarks import OWN_IDENTIFY
from lond.presets.recipes import RECIPES
from lond.presets.scaling import occasion_of, shortened, slowed
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings


def on_features(images: int, epochs: int = 9, seed: int = 0) -> RunConfig:
    """Return settings for LOND-DRS on features of so many images, computed beforehand, of unknown noise.

    A narrow trunk, few epochs and the witness's score; chosen on training images of CIFAR80N that were held out.
    """
    warmup = max(1, epochs // 3)
    neighbours = min(OWN_IDENTIFY.neighbours, max(1, images // 10))
    return RunConfig(
        data=DataSettings(source="features"),
        net=NetSettings("features", width=0.5),
        settings=LondDrsSettings(
            warmup_epochs=warmup,
            ramp_epochs=max(1, epochs // 3),
            identify=replace(OWN_IDENTIFY, neighbours=neighbours),
            witness=True,
        ),
        optimiser=OptimiserSettings(learning_rate=0.02, constant_epochs=warmup),
        train=TrainSettings(epochs=epochs, batch_size=min(256, max(16, images // 20)), average_last=3, seed=seed),
    )


FROZEN_EPOCHS = 9
"""Epochs of every method on features of a frozen network."""

# A step costs, in steps of plain cross-entropy: Co-teaching(+) 1.3, NPN 2.1, NGC and SED 2.3, NCE 2.5, Jo-SRC 2.6,
# DivideMix 2.7, DISC and CIR+ 3.0, UNICON 3.1, LOND-DRS 9.5. An epoch has N / 256 steps of most methods (CIFAR: 196),
# N / 128 for each of two networks of DivideMix, NCE and UNICON, 900 for CIR+. The limits are about three minutes a run.
FROZEN_STEPS = {"lond-drs": 100, "cir-plus": 225, "dividemix": 150, "nce": 150, "unicon": 150}
"""Steps of a phase after warm-up on features of a benchmark: see above. Data of one's own are not limited."""

FROZEN_IMAGES = {"digits": 1198}
"""Training images of benchmarks that are too small for the usual batch on features."""


def on_frozen(config: RunConfig, epochs: int = FROZEN_EPOCHS, images: int = 0) -> RunConfig:
    """Return a preset of any method, or a configuration for data of one's own, for features of a frozen network.

    LOND-DRS takes the settings of ``on_features`` but identifies and mixes as the preset says, and scores by Eq. 15 on
    a benchmark, by the witness on data of one's own. Another method is shortened as for any reduced preset; its rates
    grow with the batch, and what needs images (the rotations of CIR+) is off.

    Args:
        config: data, method and seed; a frozen network that it names already is kept.
        epochs: of every method.
        images: number of training images, few of which get smaller batches and fewer neighbours; 0 = those of one's
            own data are counted.

    Raises:
        ConfigError: there is no epoch left, or the data are features already.
        DataError: the source cannot be read.
    """
    data, method = config.data, config.method
    if epochs < 1:
        raise ConfigError(f"a run needs at least 1 epoch, not {epochs}")
    if not data.frozen.backbone:
        data = replace(data, frozen=replace(data.frozen, backbone=ExtractorSettings.backbone))
    images = images or _count(data)
    heads = replace(on_features(images, epochs, config.train.seed), data=data)
    steps = 0 if data.source else FROZEN_STEPS.get(method, 0)
    train = replace(config.train, epochs=epochs, batch_size=heads.train.batch_size, average_last=3, max_steps=steps)
    if method == "lond-drs":
        own = config.settings
        settings = replace(
            heads.settings,
            identify=replace(own.identify, neighbours=min(own.identify.neighbours, max(1, images // 10))),
            mixup=own.mixup,
            warmup_prototype_weight=own.warmup_prototype_weight,
            # On a benchmark the published score is what is asked for.
            witness=bool(data.source),
        )
        return replace(heads, settings=settings, train=train)
    short = shortened(config, heads)
    settings = replace(short.settings, rotation_weight=0.0) if method == "cir-plus" else short.settings
    has_rates = RECIPES[method](occasion_of(config)).optimiser is not None
    optimiser = slowed(short.optimiser, train.batch_size / short.train.batch_size) if has_rates else heads.optimiser
    return replace(heads, method=method, settings=settings, optimiser=optimiser, train=train)


def _count(data: DataSettings) -> int:
    """Return the number of training images; for a benchmark that is not small, some large one."""
    if not data.source:
        return FROZEN_IMAGES.get(data.benchmark.name, 50_000)
    samples = load(data.source, options=data.read)
    if isinstance(samples.pixels, FeaturePixels):
        raise ConfigError(
            f"{samples.origin} holds features already; train on them as they are, without a frozen network"
        )
    return len(samples)
