"""Plain cross-entropy, trained as long and with the same optimiser as the method it is compared with."""

from __future__ import annotations

from lond.methods.standard import StandardSettings
from lond.presets.recipes.base import Occasion, Recipe


def recipe(occasion: Occasion) -> Recipe:
    """Return the head alone: everything else is the preset's."""
    return Recipe(StandardSettings())
