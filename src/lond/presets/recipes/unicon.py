"""UNICON: the values of its released programs for CIFAR, and for Clothing1M with ResNet50."""

from __future__ import annotations

from lond.methods.unicon import UniconSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings

HEAVY_RATE = 0.75
"""Symmetric noise rate above which the authors advise larger unlabelled batches."""

STEP_LIMITS = {"mini80": 60, "frozen": 150}


def recipe(occasion: Occasion) -> Recipe:
    """Return the published values; of the 0 to 2 warm-up epochs advised for web data the most."""
    if occasion.noise == "web":
        settings = UniconSettings(
            head="linear", warmup_epochs=2, mixup=0.5, unlabelled_weight=0.0, unlabelled_batch=0.0
        )
        optimiser = OptimiserSettings(
            learning_rate=0.005, nesterov=False, weight_decay=1e-3, constant_epochs=0, final_rate=1e-5
        )
        return Recipe(settings, optimiser, epochs=200, batch_size=64, strong="autoaugment", step_limits=STEP_LIMITS)
    settings = UniconSettings(
        warmup_epochs=10 if occasion.few_classes else 30,
        confidence_penalty=occasion.noise == "asymmetric",
        unlabelled_batch=1.0 if occasion.noise == "symmetric" and occasion.rate > HEAVY_RATE else 0.5,
    )
    optimiser = OptimiserSettings(learning_rate=0.02, nesterov=False, constant_epochs=0, final_rate=2e-4)
    return Recipe(settings, optimiser, epochs=350, batch_size=128, strong="autoaugment", step_limits=STEP_LIMITS)
