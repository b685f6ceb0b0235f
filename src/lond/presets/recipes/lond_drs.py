"""LOND-DRS as published: the CIFAR column by noise and the web column. Optimiser and length are the presets' own."""

from __future__ import annotations

from dataclasses import replace

from lond.identify import IdentifySettings
from lond.methods.lond_drs_settings import LondDrsSettings
from lond.presets.recipes.base import FeatureRun, Occasion, Recipe

OWN_IDENTIFY = IdentifySettings(neighbours=80, top=1, clean_quantile=0.5)
"""The paper's web column, for noise that nobody has measured: its own web sets and a user's images."""


def recipe(occasion: Occasion) -> Recipe:
    """Return the published settings: K = 3 for symmetric, 1 for asymmetric noise."""
    if occasion.noise == "web":
        settings = LondDrsSettings(warmup_epochs=10, identify=OWN_IDENTIFY, mixup=0.5, warmup_prototype_weight=10.0)
    else:
        settings = LondDrsSettings(identify=IdentifySettings(top=3 if occasion.noise == "symmetric" else 1))
    return Recipe(settings, step_limits={"frozen": 100}, on_features=_on_features)


def short_settings(images: int, epochs: int) -> LondDrsSettings:
    """Return settings for a short run with unknown noise: a third is warm-up, and the witness gives the score."""
    third = max(1, epochs // 3)
    identify = replace(OWN_IDENTIFY, neighbours=_neighbours(OWN_IDENTIFY, images))
    return LondDrsSettings(warmup_epochs=third, ramp_epochs=third, identify=identify, witness=True)


def _on_features(settings: LondDrsSettings, run: FeatureRun) -> LondDrsSettings:
    """Identify and mix as published, else as in any short run; on a benchmark the published score is asked for."""
    return replace(
        short_settings(run.images, run.epochs),
        identify=replace(settings.identify, neighbours=_neighbours(settings.identify, run.images)),
        mixup=settings.mixup,
        warmup_prototype_weight=settings.warmup_prototype_weight,
        witness=run.is_own,
    )


def _neighbours(identify: IdentifySettings, images: int) -> int:
    """Return the number of neighbours: at most a tenth of the images."""
    return min(identify.neighbours, max(1, images // 10))
