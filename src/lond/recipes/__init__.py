"""The published values of every method: settings, optimiser and length, by data set and noise."""

from __future__ import annotations

from collections.abc import Callable

from lond.recipes import standard
from lond.recipes.base import Occasion, Recipe

RECIPES: dict[str, Callable[[Occasion], Recipe]] = {
    "standard": standard.recipe,
}
"""Method name -> its recipe; LOND-DRS has its own presets."""

__all__ = ["RECIPES", "Occasion", "Recipe"]
