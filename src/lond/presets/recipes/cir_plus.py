"""CIR+ as released for CIFAR; no values for web images were published."""

from __future__ import annotations

from dataclasses import replace

from lond.methods.cir_plus import CirPlusSettings
from lond.presets.recipes.base import FeatureRun, Occasion, Recipe
from lond.train.schedule import OptimiserSettings

STEP_LIMITS = {"mini80": 50, "frozen": 225}


def recipe(occasion: Occasion) -> Recipe:
    """Return the released values for CIFAR, or our own for the web. A step's batches are half the run's.

    900 steps are about one pass over CIFAR, so other data sets are passed through once an epoch instead. For web images
    the rotation task is off: it would show eight large images for each clean one.
    """
    if occasion.noise == "web":
        settings = CirPlusSettings(
            head="linear", warmup_epochs=10, iterations=0, mixup=0.5, unlabelled_weight=0.0, rotation_weight=0.0
        )
        optimiser = OptimiserSettings(learning_rate=0.005, nesterov=False, constant_epochs=10)
        return Recipe(settings, optimiser, epochs=100, batch_size=64, step_limits=STEP_LIMITS, on_features=_upright)
    settings = CirPlusSettings(
        warmup_epochs=10 if occasion.few_classes else 30,
        iterations=900 if occasion.benchmark.startswith("cifar") else 0,
        negatives="random" if occasion.rate >= 0.8 else "hard",
        confidence_penalty=occasion.noise == "asymmetric",
    )
    optimiser = OptimiserSettings(learning_rate=0.02, nesterov=False, plan="step", milestones=(150,), step_factor=0.01)
    return Recipe(settings, optimiser, epochs=300, batch_size=128, step_limits=STEP_LIMITS, on_features=_upright)


def _upright(settings: CirPlusSettings, run: FeatureRun) -> CirPlusSettings:
    """Switch the rotation task off: features cannot be turned."""
    return replace(settings, rotation_weight=0.0)
