"""What is trained in an audit, and on what: heads on frozen features, or a whole network on the images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from lond.config import NetSettings, RunConfig
from lond.data.feature_views import FeaturePixels
from lond.data.resized import at_side
from lond.data.views import ViewSettings
from lond.errors import ConfigError, DataError
from lond.frozen.cache import Features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.samples import FrozenSettings
from lond.methods import LondDrsSettings
from lond.presets.benchmarks import OWN_IDENTIFY
from lond.presets.features import on_features
from lond.presets.own_data import SMALL_IMAGE, own_batch
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings
from lond.types import Samples

Trained = Literal["heads", "finetune", "scratch"]
"""Heads on frozen features; the pretrained network as a whole; a network without any pretrained weights."""

EPOCHS: dict[Trained, int] = {"heads": 9, "finetune": 12, "scratch": 60}
"""Epochs unless told otherwise."""


@dataclass(frozen=True)
class Plan:
    """The configuration of a run and the samples that it learns from."""

    config: RunConfig
    samples: Samples


def plan(
    trained: Trained,
    samples: Samples,
    features: Features,
    extractor: ExtractorSettings,
    epochs: int,
    seed: int,
    cache: str | None = "",
) -> Plan:
    """Return what to train on N images.

    Args:
        trained: heads, the pretrained network, or a network from scratch.
        samples: the images at their own size.
        features: ``(N, V, D)`` of the frozen network.
        extractor: the frozen network.
        epochs: 0 = ``EPOCHS``.
        seed: of the training.
        cache: folder of the features, so that the trained heads can look at new images; None = they are not the frozen
            network's but the user's own.

    Raises:
        ConfigError: there is no such training.
        DataError: a network is to be trained on embeddings.
    """
    if trained not in get_args(Trained):
        raise ConfigError(f"there is no training {trained!r}; choose one of {', '.join(get_args(Trained))}")
    epochs = epochs or EPOCHS[trained]
    if trained == "heads":
        config = on_features(len(samples), epochs, seed)
        if cache is not None:
            frozen = FrozenSettings(**vars(extractor), cache=cache or FrozenSettings.cache)
            config = replace(config, data=replace(config.data, frozen=frozen))
        return Plan(config, replace(samples, pixels=FeaturePixels(features)))
    if isinstance(samples.pixels, FeaturePixels):
        raise DataError(f"{samples.origin} holds embeddings; a network can only be trained on images")
    side = extractor.size if trained == "finetune" else min(SMALL_IMAGE, *samples.pixels.size)
    sized = replace(samples, pixels=at_side(samples.pixels, side))
    if trained == "finetune":
        return Plan(_finetuned(extractor, len(samples), epochs, seed), sized)
    return Plan(_from_scratch(side, len(samples), epochs, seed), sized)


def _finetuned(extractor: ExtractorSettings, images: int, epochs: int, seed: int) -> RunConfig:
    """Return the web recipe for the pretrained network, shortened."""
    return RunConfig(
        net=NetSettings(
            extractor.backbone, pretrained=extractor.checkpoint_path is None, checkpoint_path=extractor.checkpoint_path
        ),
        views=ViewSettings(padding=extractor.size // 8, strong="randaugment"),
        settings=_settings(epochs, images, mixup=0.5, warmup_prototype_weight=10.0),
        optimiser=OptimiserSettings(learning_rate=0.005, constant_epochs=_warmup(epochs)),
        train=TrainSettings(epochs=epochs, batch_size=own_batch(images, 64), average_last=3, seed=seed),
    )


def _from_scratch(side: int, images: int, epochs: int, seed: int) -> RunConfig:
    """Return the paper's seven-layer CNN, shortened."""
    return RunConfig(
        views=ViewSettings(padding=max(1, side // 8)),
        settings=_settings(epochs, images),
        optimiser=OptimiserSettings(constant_epochs=_warmup(epochs)),
        train=TrainSettings(epochs=epochs, batch_size=own_batch(images, 128), average_last=3, seed=seed),
    )


def _warmup(epochs: int) -> int:
    return max(1, epochs // 3)


def _settings(epochs: int, images: int, **values: float) -> LondDrsSettings:
    neighbours = min(OWN_IDENTIFY.neighbours, max(1, images // 10))
    ramp = min(LondDrsSettings.ramp_epochs, _warmup(epochs))
    identify = replace(OWN_IDENTIFY, neighbours=neighbours)
    return replace(
        LondDrsSettings(warmup_epochs=_warmup(epochs), ramp_epochs=ramp, identify=identify, witness=True),
        **values,  # type: ignore[arg-type]  # a field a name
    )
