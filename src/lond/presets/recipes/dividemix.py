"""DivideMix: the values of its released programs for CIFAR, and for Clothing1M with ResNet50."""

from __future__ import annotations

from lond.methods.dividemix import DivideMixSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings

HEAVY_RATE, EXTREME_RATE = 0.4, 0.85
"""Symmetric noise rates above which the values for 50-80 % and for 90 % are taken."""

STEP_LIMITS = {"mini80": 60, "frozen": 150}


def recipe(occasion: Occasion) -> Recipe:
    """Return the published values; for CIFAR-100 with asymmetric noise, which was not published, those of 20 %."""
    if occasion.noise == "web":
        settings = DivideMixSettings(
            head="linear", warmup_epochs=1, confidence_penalty=True, mixup=0.5, unlabelled_weight=0.0
        )
        optimiser = OptimiserSettings(
            learning_rate=0.002, nesterov=False, weight_decay=1e-3, plan="step", milestones=(40,)
        )
        return Recipe(settings, optimiser, epochs=80, batch_size=64, step_limits=STEP_LIMITS)
    extreme = occasion.noise == "symmetric" and occasion.rate > EXTREME_RATE
    settings = DivideMixSettings(
        warmup_epochs=10 if occasion.few_classes else 30,
        confidence_penalty=occasion.noise == "asymmetric",
        unlabelled_weight=_unlabelled_weight(occasion),
        clean_threshold=0.6 if extreme else 0.5,
        loss_history=5 if extreme else 0,
    )
    optimiser = OptimiserSettings(learning_rate=0.02, nesterov=False, plan="step", milestones=(150,))
    return Recipe(settings, optimiser, epochs=300, batch_size=128, step_limits=STEP_LIMITS)


def _unlabelled_weight(occasion: Occasion) -> float:
    """Return lambda_u, which the authors chose by data set and noise."""
    light, heavy, extreme = (0.0, 25.0, 50.0) if occasion.few_classes else (25.0, 150.0, 150.0)
    if occasion.noise == "asymmetric" or occasion.rate <= HEAVY_RATE:
        return light
    return extreme if occasion.rate > EXTREME_RATE else heavy
