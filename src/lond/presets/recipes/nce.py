"""NCE as published for CIFAR-10, CIFAR-100 and mini-WebVision."""

from __future__ import annotations

from lond.methods.nce import NceSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings

STEP_LIMITS = {"mini80": 30, "frozen": 150}


def recipe(occasion: Occasion) -> Recipe:
    """Return the column of the data set; thresholds follow the noise rate. A step's batches are half the run's."""
    if occasion.noise == "web":
        settings = NceSettings(head="linear", warmup_epochs=1, correct_threshold=0.05, mixup=0.5)
        optimiser, epochs, batch_size = _optimiser(0.01, drop=40), 80, 64
    else:
        settings = _few_classes(occasion) if occasion.few_classes else _many_classes(occasion)
        optimiser, epochs, batch_size = _optimiser(0.02, drop=150), 300, 256
    return Recipe(settings, optimiser, epochs, batch_size, strong="autoaugment", step_limits=STEP_LIMITS)


def _few_classes(occasion: Occasion) -> NceSettings:
    # Published for CIFAR-10's asymmetric noise are 0.5 and 0.0005. They ask neighbours to be surer than those of a
    # network with a confidence penalty are on anything harder: of mini80, 2 % of the labels would be trusted.
    return NceSettings(
        warmup_epochs=10,
        verify_threshold=0.75,
        correct_threshold=0.0 if occasion.rate <= 0.2 else 0.002,
        confidence_penalty=occasion.noise == "asymmetric",
    )


def _many_classes(occasion: Occasion) -> NceSettings:
    return NceSettings(
        correct_threshold=0.0 if occasion.rate <= 0.2 else 0.005 if occasion.rate == 0.5 else 0.01,
        strong_labelled=occasion.noise == "symmetric" and occasion.rate <= 0.5,
        confidence_penalty=occasion.noise == "asymmetric",
    )


def _optimiser(rate: float, drop: int) -> OptimiserSettings:
    """Plain momentum; the rate falls to a tenth at one epoch."""
    return OptimiserSettings(learning_rate=rate, nesterov=False, plan="step", milestones=(drop,))
