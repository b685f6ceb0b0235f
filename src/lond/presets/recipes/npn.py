"""NPN as published: one column for CIFAR, one for web data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lond.methods.npn import NpnHardSettings, NpnSoftSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings

CIFAR = OptimiserSettings(learning_rate=0.05, constant_epochs=200)
WEB = OptimiserSettings(learning_rate=0.008, constant_epochs=40, constant_rate=0.005)

WEB_SETTINGS: dict[str, Any] = {
    "head": "linear", "warmup_epochs": 40, "top_k": 1, "label_smoothing": 0.2, "consistency_weight": 2.0,
}  # fmt: skip
"""The released web program is NPN-hard with NPN-soft's beta; both variants share these values."""


def recipe_hard(occasion: Occasion) -> Recipe:
    """Return the published values of NPN-hard."""
    return _recipe(occasion, NpnHardSettings)


def recipe_soft(occasion: Occasion) -> Recipe:
    """Return the published values of NPN-soft.

    In a short run the consistency term rises to its weight over all epochs after warm-up: the votes of a short warm-up
    are too few to hold the network, which the full weight would lead to a single class.
    """
    return replace(_recipe(occasion, NpnSoftSettings), when_short=_risen)


def _risen(settings: NpnSoftSettings, epochs: int) -> NpnSoftSettings:
    return replace(settings, ramp_epochs=epochs)


def _recipe(occasion: Occasion, settings: type[NpnHardSettings] | type[NpnSoftSettings]) -> Recipe:
    if occasion.noise == "web":
        return Recipe(settings(**WEB_SETTINGS), WEB, epochs=100, batch_size=32, strong="randaugment")
    return Recipe(settings(), CIFAR, epochs=300, batch_size=128, strong="autoaugment")
