"""What published values depend on, and what a recipe leaves to the preset."""

from __future__ import annotations

import pytest

from lond.methods.standard import StandardSettings
from lond.presets.recipes.base import FeatureRun, Occasion, Recipe


@pytest.mark.parametrize(
    ("occasion", "few"),
    [
        (Occasion(), False),
        (Occasion(benchmark="web-bird"), False),
        (Occasion("symmetric", 0.2), True),
        (Occasion("symmetric", 0.5, "cifar10n"), True),
        (Occasion("symmetric", 0.5, "mini80"), True),
        (Occasion("symmetric", 0.5, "cifar80n"), False),
        (Occasion("asymmetric", 0.4, "cifar100n"), False),
    ],
)
def test_where_nobody_has_tuned_the_values_for_few_classes_hold(occasion: Occasion, few: bool) -> None:
    assert occasion.few_classes is few


def test_a_recipe_says_no_more_than_it_must() -> None:
    settings = StandardSettings(hidden=8)
    recipe = Recipe(settings)
    assert (recipe.optimiser, recipe.epochs, recipe.batch_size, recipe.strong) == (None,) * 4
    assert recipe.step_limits == {}
    assert recipe.on_features(settings, FeatureRun(100, 9, is_own=True)) is settings
