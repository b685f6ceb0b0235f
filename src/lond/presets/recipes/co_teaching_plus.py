"""Co-teaching+ with the seven-layer network, and with ResNet50 on web data."""

from __future__ import annotations

from lond.methods.co_teaching_plus import CoTeachingPlusSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.presets.recipes.co_teaching import WEB_OPTIMISER, assumed_noise_rate, falling_adam


def recipe(occasion: Occasion) -> Recipe:
    """Return the released program's values for CIFAR-100; web data take the optimiser and length of Co-teaching."""
    initial_epochs = 20 if occasion.few_classes else 5
    settings = CoTeachingPlusSettings(noise_rate=assumed_noise_rate(occasion), initial_epochs=initial_epochs)
    if occasion.noise == "web":
        return Recipe(settings, WEB_OPTIMISER, epochs=110, batch_size=32)
    return Recipe(settings, falling_adam(constant_epochs=80), epochs=200, batch_size=128)
