"""Cross-fit: lengths and rates of LOND-DRS for CIFAR; for web data those of fine-tuning a ResNet50."""

from __future__ import annotations

from lond.methods.cross_fit import CrossFitSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings


def recipe(occasion: Occasion) -> Recipe:
    """Return the values for the data set; on features it learns at the rate that was chosen there."""
    if occasion.noise == "web":
        optimiser = OptimiserSettings(learning_rate=0.005, constant_epochs=10)
        settings = CrossFitSettings(warmup_epochs=10, judge_epochs=10)
        return Recipe(settings, optimiser, epochs=100, batch_size=32, trains_as_heads=True)
    return Recipe(CrossFitSettings(), OptimiserSettings(), epochs=300, batch_size=128, trains_as_heads=True)
