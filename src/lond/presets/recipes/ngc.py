"""NGC as published for CIFAR; for web data its WebVision mixing, and the rate and length of fine-tuning a ResNet50."""

from __future__ import annotations

from typing import Any

from lond.methods.ngc import NgcSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings

CIFAR: dict[str, dict[str, Any]] = {
    "cifar80n": {"neighbours": 200},
    "cifar100n": {"neighbours": 200, "eta_high": 0.6},
}
"""What was published for CIFAR-100 with and without open-set noise."""
CIFAR10: dict[str, dict[str, Any]] = {
    "symmetric": {"warmup_epochs": 5, "neighbours": 30, "eta_high": 0.7},
    "asymmetric": {"warmup_epochs": 30, "neighbours": 10, "eta_high": 0.7},
}
"""What was published for CIFAR-10, by noise."""


def recipe(occasion: Occasion) -> Recipe:
    """Return the published values; the strong views are AugMix everywhere."""
    if occasion.noise == "web":
        settings = NgcSettings(warmup_epochs=10, neighbours=50, mixup=0.5, mix_both_views=False)
        optimiser = OptimiserSettings(learning_rate=0.005, nesterov=False, constant_epochs=0)
        return Recipe(settings, optimiser, epochs=100, batch_size=32, strong="augmix")
    special = CIFAR10[occasion.noise] if occasion.benchmark == "cifar10n" else CIFAR.get(occasion.benchmark, {})
    optimiser = OptimiserSettings(learning_rate=0.15, nesterov=False, constant_epochs=0, final_rate=2e-4)
    return Recipe(NgcSettings(**special), optimiser, epochs=300, batch_size=512, strong="augmix")
