"""The published values of every method: settings, optimiser and length, by data set and noise."""

from __future__ import annotations

from collections.abc import Callable

from lond.config import settings_class
from lond.methods import ALL_METHODS
from lond.presets.recipes import (
    cir_plus,
    co_teaching,
    co_teaching_plus,
    cross_fit,
    disc,
    dividemix,
    jo_src,
    lond_drs,
    lond_drs_fast,
    nce,
    ngc,
    npn,
    sed,
    unicon,
)
from lond.presets.recipes.base import FeatureRun, Occasion, Recipe

RECIPES: dict[str, Callable[[Occasion], Recipe]] = {
    "cir-plus": cir_plus.recipe,
    "co-teaching": co_teaching.recipe,
    "co-teaching-plus": co_teaching_plus.recipe,
    "cross-fit": cross_fit.recipe,
    "disc": disc.recipe,
    "dividemix": dividemix.recipe,
    "jo-src": jo_src.recipe,
    "lond-drs": lond_drs.recipe,
    "lond-drs-fast": lond_drs_fast.recipe,
    "nce": nce.recipe,
    "ngc": ngc.recipe,
    "npn-hard": npn.recipe_hard,
    "npn-soft": npn.recipe_soft,
    "sed": sed.recipe,
    "unicon": unicon.recipe,
}
"""Method name -> its recipe; plain cross-entropy has none, and is trained as what it is compared with."""


def recipe_of(method: str) -> Callable[[Occasion], Recipe]:
    """Return the recipe of a method: ours, else the one that its class brings as ``recipe``, else its default settings.

    Raises:
        ConfigError: there is no such method.
    """
    settings = settings_class(method)
    own: Callable[[Occasion], Recipe] | None = getattr(ALL_METHODS[method], "recipe", None)
    return RECIPES.get(method) or own or (lambda occasion: Recipe(settings()))


__all__ = ["RECIPES", "FeatureRun", "Occasion", "Recipe", "recipe_of"]
