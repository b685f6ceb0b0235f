"""LOND-DRS with savings, in batches of half the size: everything else as published."""

from __future__ import annotations

from dataclasses import replace

from lond.methods.lond_drs_fast import LondDrsFastSettings
from lond.methods.lond_drs_settings import LondDrsSettings
from lond.presets.recipes import lond_drs
from lond.presets.recipes.base import FeatureRun, Occasion, Recipe, extended


def recipe(occasion: Occasion) -> Recipe:
    """Return the published settings of LOND-DRS, with savings, and twice the steps."""
    published = lond_drs.recipe(occasion)

    def on_features(settings: LondDrsSettings, run: FeatureRun) -> LondDrsFastSettings:
        made = extended(LondDrsFastSettings, published.on_features(settings, run))
        return replace(made, savings=settings.savings)

    settings = extended(LondDrsFastSettings, published.settings)
    return replace(published, settings=settings, batch_share=0.5, on_features=on_features)
