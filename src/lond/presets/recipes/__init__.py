"""The published values of every method: settings, optimiser and length, by data set and noise."""

from __future__ import annotations

from collections.abc import Callable

from lond.presets.recipes import (
    cir_plus,
    co_teaching,
    co_teaching_plus,
    disc,
    dividemix,
    jo_src,
    nce,
    ngc,
    npn,
    sed,
    standard,
    unicon,
)
from lond.presets.recipes.base import Occasion, Recipe

RECIPES: dict[str, Callable[[Occasion], Recipe]] = {
    "cir-plus": cir_plus.recipe,
    "co-teaching": co_teaching.recipe,
    "co-teaching-plus": co_teaching_plus.recipe,
    "disc": disc.recipe,
    "dividemix": dividemix.recipe,
    "jo-src": jo_src.recipe,
    "nce": nce.recipe,
    "ngc": ngc.recipe,
    "npn-hard": npn.recipe_hard,
    "npn-soft": npn.recipe_soft,
    "sed": sed.recipe,
    "standard": standard.recipe,
    "unicon": unicon.recipe,
}
"""Method name -> its recipe; LOND-DRS has its own presets."""

__all__ = ["RECIPES", "Occasion", "Recipe"]
