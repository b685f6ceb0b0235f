"""Co-teaching with the seven-layer network, and with ResNet50 on web data."""

from __future__ import annotations

from lond.methods.co_teaching import CoTeachingSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings

WEB_NOISE_RATE = 0.3
"""Middle of the drop rates published for web data, 0.25 to 0.35."""

WEB_OPTIMISER = OptimiserSettings(learning_rate=0.005, constant_epochs=0)
"""SGD with Nesterov momentum, and one cosine from the first epoch to the last."""


def recipe(occasion: Occasion) -> Recipe:
    """Return the released program's values for CIFAR-100, or those of its later users for web data."""
    settings = CoTeachingSettings(noise_rate=assumed_noise_rate(occasion))
    if occasion.noise == "web":
        return Recipe(settings, WEB_OPTIMISER, epochs=110, batch_size=32)
    return Recipe(settings, falling_adam(constant_epochs=100), epochs=200, batch_size=128)


def assumed_noise_rate(occasion: Occasion) -> float:
    """Return tau: the noise rate, half of it for asymmetric noise, 0.3 where nobody has measured it."""
    if occasion.noise == "web":
        return WEB_NOISE_RATE
    return occasion.rate / 2 if occasion.noise == "asymmetric" else occasion.rate


def falling_adam(constant_epochs: int) -> OptimiserSettings:
    """Return Adam at 0.001, which falls linearly to 0, with beta1 0.1, after the constant epochs."""
    return OptimiserSettings(
        name="adam",
        learning_rate=1e-3,
        momentum=0.9,
        late_momentum=0.1,
        weight_decay=0.0,
        plan="linear",
        constant_epochs=constant_epochs,
        final_rate=0.0,
    )
