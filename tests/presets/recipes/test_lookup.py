"""Where a method's recipe is found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from lond.errors import ConfigError
from lond.methods import METHODS
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.features import on_frozen
from lond.presets.recipes import RECIPES, FeatureRun, Occasion, Recipe, recipe_of
from lond.train.schedule import OptimiserSettings


@dataclass(frozen=True)
class Settings:
    """Of a method from elsewhere."""

    warmup_epochs: int = 3
    turns: int = 4


class Plain:
    """Brings no recipe."""

    settings_class = Settings


class Cooked:
    """Brings its own."""

    settings_class = Settings

    @staticmethod
    def recipe(occasion: Occasion) -> Recipe:
        return Recipe(
            Settings(turns=8),
            OptimiserSettings(learning_rate=0.3),
            epochs=50,
            batch_size=32,
            step_limits={"mini80": 200, "frozen": 9},
            on_features=_still,
        )


def _still(settings: Settings, run: FeatureRun) -> Settings:
    return replace(settings, turns=0)


def test_ours_come_first() -> None:
    assert all(recipe_of(name) is recipe for name, recipe in RECIPES.items())
    with pytest.raises(ConfigError, match="no method 'magic'"):
        recipe_of("magic")


def test_a_method_from_elsewhere_brings_its_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "cooked", Cooked)
    full, mini = preset("cifar80n-sym20", "cooked"), preset("mini80-sym50", "cooked")
    assert (full.settings.turns, full.train.epochs, full.optimiser.learning_rate) == (8, 50, 0.3)
    assert (mini.train.max_steps, full.train.max_steps) == (200, 0)
    features = on_frozen(full)
    assert (features.settings.turns, features.train.max_steps) == (0, 98)  # half of 50,000 images in batches of 256


def test_without_a_recipe_its_defaults_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "plain", Plain)
    config = preset("mini80-sym50", "plain")
    assert (config.settings, config.train) == (Settings(), preset("mini80-sym50").train)
    assert on_frozen(config).settings.turns == 4


@pytest.mark.parametrize("name", PRESETS)
def test_cross_entropy_is_trained_like_the_method_it_is_compared_with(name: str) -> None:
    own, plain = PRESETS[name], preset(name, "standard")
    for part in ("data", "net", "views", "optimiser", "train"):
        assert getattr(plain, part) == getattr(own, part), part
