"""Plain cross-entropy, trained as long and with the same optimiser as the method it is compared with."""

from __future__ import annotations

from lond.methods.standard import StandardSettings
from lond.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings


def recipe(occasion: Occasion) -> Recipe:
    """Return the optimiser and length of LOND-DRS."""
    if occasion.noise == "web":
        optimiser = OptimiserSettings(learning_rate=0.005, constant_epochs=10)
        return Recipe(StandardSettings(head="linear"), optimiser, epochs=120, batch_size=64)
    return Recipe(StandardSettings(), OptimiserSettings(), epochs=300, batch_size=128)
