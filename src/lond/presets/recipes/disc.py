"""DISC as published: the CIFAR switches by noise kind and rate, the Clothing1M and Food101N column for web data."""

from __future__ import annotations

from lond.methods.disc import DiscSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings

HEAVY = 0.6
"""Noise rate from which thresholds follow faster and hard samples count less; above it Adam takes over."""

ADAM = OptimiserSettings(
    name="adam", learning_rate=1e-3, momentum=0.9, late_momentum=0.1, weight_decay=0.0, plan="linear",
    constant_epochs=120, final_rate=0.0,
)  # fmt: skip


def recipe(occasion: Occasion) -> Recipe:
    """Return the published values; SGD has no momentum, as released."""
    if occasion.noise == "web":
        settings = DiscSettings(head="linear", warmup_epochs=10, confidence_memory=0.95)
        return Recipe(settings, _sgd(0.01, 5e-4, (50, 80)), epochs=100, batch_size=32, strong="randaugment")
    heavy = occasion.rate >= HEAVY
    settings = DiscSettings(
        confidence_memory=0.95 if heavy or occasion.noise == "asymmetric" else 0.99, hard_weight=0.2 if heavy else 1.0
    )
    optimiser = ADAM if occasion.rate > HEAVY else _sgd(0.1, 1e-3, (80, 160))
    return Recipe(settings, optimiser, epochs=200, batch_size=128, strong="randaugment")


def _sgd(rate: float, weight_decay: float, milestones: tuple[int, ...]) -> OptimiserSettings:
    return OptimiserSettings(
        learning_rate=rate, momentum=0.0, nesterov=False, weight_decay=weight_decay, plan="step", milestones=milestones
    )
