"""A method's recipe in a preset: published at full scale, shortened elsewhere."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from lond.methods import METHODS
from lond.presets import MINI80_STEPS, PRESETS, preset
from lond.recipes import RECIPES, Occasion
from lond.recipes.apply import LENGTHS, MEMORIES, occasion_of, slowed, with_epochs, with_method
from lond.train.schedule import OptimiserSettings

OTHERS = sorted(set(METHODS) - {"lond-drs"})


def test_every_method_has_a_recipe() -> None:
    assert set(RECIPES) | {"lond-drs"} == set(METHODS)


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("name", ["cifar80n-sym20", "cifar100n-sym80", "cifar80n-asym40", "web-bird"])
def test_full_scale_is_as_published(method: str, name: str) -> None:
    config, base = preset(name, method), PRESETS[name]
    recipe = RECIPES[method](occasion_of(base))
    assert config.settings == recipe.settings
    assert config.optimiser == (recipe.optimiser or base.optimiser)
    assert config.train.epochs == (recipe.epochs or base.train.epochs)
    assert config.train.batch_size == (recipe.batch_size or base.train.batch_size)
    assert (config.data, config.net) == (base.data, base.net)
    assert config.train.max_steps == 0


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("name", ["mini80-sym50", "mini80-asym40", "digits"])
def test_a_reduced_preset_keeps_its_length(method: str, name: str) -> None:
    config, base = preset(name, method), PRESETS[name]
    assert config.train.epochs == base.train.epochs
    warmup = getattr(config.settings, "warmup_epochs", 0)
    assert warmup == 0 or base.settings.warmup_epochs <= warmup < config.train.epochs
    assert config.optimiser.constant_epochs < config.train.epochs
    assert config.train.batch_size <= 2 * base.train.batch_size
    assert config.train.max_steps == (MINI80_STEPS.get(method, 0) if "mini80" in name else 0)


@pytest.mark.parametrize("method", OTHERS)
def test_recipes_differ_from_web_to_cifar(method: str) -> None:
    web, cifar = RECIPES[method](Occasion()), RECIPES[method](Occasion("symmetric", 0.2, "cifar80n"))
    assert isinstance(web.settings, METHODS[method][1])
    if method != "standard":
        assert web.optimiser != cifar.optimiser


def test_what_is_scaled_is_a_setting_of_some_method() -> None:
    known = {field.name for _, settings in METHODS.values() for field in fields(settings)}
    assert known >= {*LENGTHS, *MEMORIES}
    assert {name for name in known if name.endswith("_epochs")} == set(LENGTHS)


def test_occasions() -> None:
    assert occasion_of(PRESETS["cifar80n-asym40"]) == Occasion("asymmetric", 0.4, "cifar80n")
    assert occasion_of(PRESETS["web-car"]) == Occasion("web", benchmark="web-car")
    own = replace(PRESETS["digits"].data, source="images")
    assert occasion_of(replace(PRESETS["digits"], data=own)) == Occasion("symmetric", 0.2)
    assert occasion_of(replace(PRESETS["web-car"], data=own)) == Occasion("web")


def test_memory_fades_as_much_over_a_short_run() -> None:
    config = preset("cifar80n-sym20", "disc")
    short = with_epochs(config, config.train.epochs // 4)
    kept, published = short.settings.confidence_memory, config.settings.confidence_memory
    assert kept ** (config.train.epochs // 4) == pytest.approx(published**config.train.epochs)


def test_rates_of_sgd_go_with_the_batch() -> None:
    sgd = OptimiserSettings(learning_rate=0.2, constant_rate=0.1, final_rate=0.02)
    half = slowed(sgd, 0.5)
    assert (half.learning_rate, half.constant_rate, half.final_rate) == (0.1, 0.05, 0.01)
    assert slowed(sgd, 1) is sgd
    adam = OptimiserSettings("adam", 1e-3)
    assert slowed(adam, 0.5) is adam


def test_strong_views_of_a_recipe_are_for_photographs() -> None:
    assert preset("cifar80n-sym20", "disc").views.strong == "randaugment"
    assert preset("digits", "disc").views.strong == "geometric"


def test_back_to_lond_drs() -> None:
    config = with_method(preset("digits", "standard"), "lond-drs")
    assert config.method == "lond-drs"
    assert with_method(config, "lond-drs") is config
