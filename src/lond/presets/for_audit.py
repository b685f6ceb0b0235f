"""What an audit trains: heads on frozen features, the pretrained network as a whole, or a network from scratch."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from lond.config import NetSettings, RunConfig
from lond.data.views import ViewSettings
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.samples import FrozenSettings
from lond.methods import LondDrsSettings
from lond.methods.cross_fit import CrossFitSettings
from lond.presets.features import on_features
from lond.presets.own_data import own_batch
from lond.presets.recipes.lond_drs import short_settings
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings

TrainingKind = Literal["heads", "finetune", "scratch"]
"""Heads on frozen features; the pretrained network as a whole; a network without any pretrained weights."""

EPOCHS: dict[TrainingKind, int] = {"heads": 9, "finetune": 12, "scratch": 60}
"""Epochs unless told otherwise."""


def for_audit(
    trained: TrainingKind,
    images: int,
    side: int,
    extractor: ExtractorSettings,
    epochs: int = 0,
    seed: int = 0,
    cache: str | None = "",
) -> RunConfig:
    """Return the configuration for an audit of the given number of images with unknown noise.

    Args:
        trained: heads, the pretrained network, or a network from scratch.
        images: how many are learned from.
        side: of the images in pixels, for a network.
        extractor: the frozen network.
        epochs: 0 = ``EPOCHS``.
        seed: of the training.
        cache: folder of the features, so that the trained heads can look at new images; None = they are not the frozen
            network's but the user's own.
    """
    epochs = epochs or EPOCHS[trained]
    if trained == "heads":
        config = on_features(images, epochs, seed)
        warmup = config.settings.warmup_epochs
        config = replace(config, method="cross-fit", settings=CrossFitSettings(warmup_epochs=warmup))
        if cache is None:
            return config
        frozen = FrozenSettings(**vars(extractor), cache=cache or FrozenSettings.cache)
        return replace(config, data=replace(config.data, frozen=frozen))
    settings = short_settings(images, epochs)
    settings = replace(settings, ramp_epochs=min(LondDrsSettings.ramp_epochs, settings.ramp_epochs))
    train = TrainSettings(epochs=epochs, batch_size=own_batch(images, 128), average_last=3, seed=seed)
    if trained == "scratch":
        return RunConfig(
            views=ViewSettings(padding=max(1, side // 8)),
            settings=settings,
            optimiser=OptimiserSettings(constant_epochs=settings.warmup_epochs),
            train=train,
        )
    # The web column for the pretrained network, shortened.
    weights = extractor.checkpoint_path
    return RunConfig(
        net=NetSettings(extractor.backbone, pretrained=weights is None, checkpoint_path=weights),
        views=ViewSettings(padding=side // 8, strong="randaugment"),
        settings=replace(settings, mixup=0.5, warmup_prototype_weight=10.0),
        optimiser=OptimiserSettings(learning_rate=0.005, constant_epochs=settings.warmup_epochs),
        train=replace(train, batch_size=own_batch(images, 64)),
    )
