"""CIR+ as released for CIFAR; no values for web images were published."""

from __future__ import annotations

from dataclasses import replace

from lond.data.benchmarks import EXTENTS
from lond.methods.cir_plus import CirPlusSettings
from lond.presets.recipes.base import FeatureRun, Occasion, Recipe
from lond.train.schedule import OptimiserSettings

STEPS, CIFAR_IMAGES, BATCH = 900, 50_000, 128
"""Steps of an epoch as released, on so many images, with batches of half this size: 1.15 times as many images."""

PACE = STEPS * BATCH / CIFAR_IMAGES

STEP_LIMITS = {"mini80": 120, "frozen": 225}


def recipe(occasion: Occasion) -> Recipe:
    """Return the released values for CIFAR, or our own for the web. A step's batches are half the run's.

    A smaller benchmark takes fewer steps an epoch, as its images are fewer; data of unknown size, and web images, are
    passed through once. For web images the rotation task is off: it would show eight large images for each clean one.
    """
    if occasion.noise == "web":
        settings = CirPlusSettings(
            head="linear", warmup_epochs=10, iterations=0, mixup=0.5, unlabelled_weight=0.0, rotation_weight=0.0
        )
        optimiser = OptimiserSettings(learning_rate=0.005, nesterov=False, constant_epochs=10)
        return Recipe(settings, optimiser, 100, 64, step_limits=STEP_LIMITS, pace=PACE, on_features=_upright)
    settings = CirPlusSettings(
        warmup_epochs=10 if occasion.few_classes else 30,
        iterations=round(STEPS * EXTENTS[occasion.benchmark].images / CIFAR_IMAGES) if occasion.benchmark else 0,
        negatives="random" if occasion.rate >= 0.8 else "hard",
        confidence_penalty=occasion.noise == "asymmetric",
    )
    optimiser = OptimiserSettings(learning_rate=0.02, nesterov=False, plan="step", milestones=(150,), step_factor=0.01)
    return Recipe(settings, optimiser, 300, BATCH, step_limits=STEP_LIMITS, pace=PACE, on_features=_upright)


def _upright(settings: CirPlusSettings, run: FeatureRun) -> CirPlusSettings:
    """Switch the rotation task off: features cannot be turned."""
    return replace(settings, rotation_weight=0.0)
