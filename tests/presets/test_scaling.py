"""A method's recipe in a preset: published at full scale, shortened elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lond.data.benchmarks import EXTENTS
from lond.errors import ConfigError
from lond.methods import METHODS
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.changes import declared, with_epochs
from lond.presets.features import on_frozen
from lond.presets.recipes import RECIPES, Occasion, Recipe, recipe_of
from lond.presets.scaling import occasion_of, slowed, step_limit, with_method
from lond.train.schedule import OptimiserSettings
from lond.types import Memory

OTHERS = sorted(set(METHODS) - {"lond-drs"})
STEPS = {"dividemix": 60, "unicon": 60, "nce": 30, "cir-plus": 120}
"""Limits on mini80."""
LONG = ["mini80-long-sym50", "mini80-long-asym40"]
REDUCED = ["mini80-sym50", "mini80-asym40", *LONG, "digits"]


def test_recipes_are_those_of_methods() -> None:
    assert set(RECIPES) <= set(METHODS)


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("name", ["cifar80n-sym20", "cifar100n-sym80", "cifar80n-asym40", "web-bird"])
def test_full_scale_is_as_published(method: str, name: str) -> None:
    config, base = preset(name, method), PRESETS[name]
    recipe = recipe_of(method)(occasion_of(base))
    assert config.settings == recipe.settings
    assert config.optimiser == (recipe.optimiser or base.optimiser)
    assert config.train.epochs == (recipe.epochs or base.train.epochs)
    assert config.train.batch_size == (recipe.batch_size or recipe.batch_share * base.train.batch_size)
    assert (config.data, config.net) == (base.data, base.net)
    assert config.train.max_steps == 0


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("name", REDUCED)
def test_a_reduced_preset_keeps_its_length(method: str, name: str) -> None:
    config, base = preset(name, method), PRESETS[name]
    assert config.train.epochs == base.train.epochs
    warmup = getattr(config.settings, "warmup_epochs", 0)
    assert warmup == 0 or base.settings.warmup_epochs <= warmup < config.train.epochs
    assert config.optimiser.constant_epochs < config.train.epochs
    assert config.train.batch_size <= 2 * base.train.batch_size
    assert config.train.max_steps == STEPS.get(method, 0) * ("mini80" in name)


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize(
    "method", [m for m in OTHERS if (own := recipe_of(m)(Occasion("symmetric", 0.5)).optimiser) and own.milestones]
)
def test_a_shortened_run_steps_down_after_its_ramp_and_not_too_early(method: str, name: str) -> None:
    config, published = preset(name, method), recipe_of(method)(occasion_of(PRESETS[name]))
    assert published.optimiser is not None and published.epochs is not None
    warmup, first = getattr(config.settings, "warmup_epochs", 0), config.optimiser.milestones[0]
    # Half an epoch of rounding, as a share of what is left after warm-up.
    left = config.train.epochs - warmup
    before = getattr(published.settings, "warmup_epochs", 0)
    for new, old in zip(config.optimiser.milestones, published.optimiser.milestones, strict=True):
        assert (new - warmup) / left >= (old - before) / (published.epochs - before) - 0.5 / left
        assert new < config.train.epochs
    if hasattr(config.settings, "ramp_epochs"):
        assert 1 <= config.settings.ramp_epochs <= first - warmup


@pytest.mark.parametrize(
    ("method", "name", "warmup", "ramp", "milestones"),
    [
        # (150 - 10) / 290 of 20 epochs; (80 - 20) / 180 and (160 - 20) / 180 of 20; (150 - 10) / 290 of 16.
        ("dividemix", "mini80-sym50", 10, 10, (20,)),
        ("cir-plus", "mini80-asym40", 10, 10, (20,)),
        ("disc", "mini80-sym50", 10, None, (17, 26)),
        # (150 - 10) / 290 of 100 epochs; 60 / 180 and 140 / 180 of 100. Ramps as published.
        ("dividemix", "mini80-long-sym50", 20, 16, (68,)),
        ("cir-plus", "mini80-long-asym40", 20, 16, (68,)),
        ("disc", "mini80-long-sym50", 20, None, (53, 98)),
        ("dividemix", "digits", 8, 8, (16,)),
        # 60 / 180 and 140 / 180 of 16.
        ("disc", "digits", 8, None, (13, 20)),
    ],
)
def test_shortened_by_hand(method: str, name: str, warmup: int, ramp: int | None, milestones: tuple[int, ...]) -> None:
    config = preset(name, method)
    assert (config.settings.warmup_epochs, getattr(config.settings, "ramp_epochs", None)) == (warmup, ramp)
    assert config.optimiser.milestones == milestones


@pytest.mark.parametrize("name", REDUCED)
def test_the_threshold_of_jo_src_rises_to_the_end(name: str) -> None:
    config = preset(name, "jo-src")
    assert config.settings.warmup_epochs + config.settings.ramp_epochs == config.train.epochs
    # Also where warm-up is longer than published as a share of the run.
    assert config.settings.warmup_epochs == PRESETS[name].settings.warmup_epochs


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize(
    ("method", "warmup"), [("sed", (10, 20, 8)), ("npn-hard", (20, 80, 16)), ("npn-soft", (20, 80, 16))]
)
def test_a_cosine_after_warmup_still_begins_after_warmup(method: str, warmup: tuple[int, int, int], name: str) -> None:
    config = preset(name, method)
    assert config.optimiser.plan == "cosine"
    wanted = warmup[2 if name == "digits" else name in LONG]
    assert config.optimiser.constant_epochs == config.settings.warmup_epochs == wanted


def test_a_plan_that_began_later_keeps_its_share_of_the_rest() -> None:
    # Co-teaching has no warm-up: half of the run. Jo-SRC: 70 of 190 epochs after warm-up, so 7 of 20.
    assert preset("mini80-sym50", "co-teaching").optimiser.constant_epochs == 15
    assert preset("mini80-sym50", "jo-src").optimiser.constant_epochs == 17


@pytest.mark.parametrize(("epochs", "milestones"), [(100, (50,)), (299, (150,)), (7, (4,)), (1, (1,))])
def test_milestones_keep_their_share(epochs: int, milestones: tuple[int, ...]) -> None:
    assert with_epochs(preset("cifar80n-sym20", "dividemix"), epochs).optimiser.milestones == milestones


def test_all_milestones_and_lengths_keep_their_share() -> None:
    web = with_epochs(preset("web-car", "disc"), 25)
    assert web.optimiser.milestones == (12, 20)
    assert (web.settings.warmup_epochs, web.train.epochs) == (2, 25)
    cifar = with_epochs(preset("cifar80n-sym20", "npn-hard"), 30)
    assert (cifar.settings.warmup_epochs, cifar.optimiser.constant_epochs, cifar.optimiser.milestones) == (20, 20, ())


@pytest.mark.parametrize("epochs", [0, -3])
def test_a_run_of_no_epochs_is_refused(epochs: int) -> None:
    with pytest.raises(ConfigError, match="at least 1 epoch"):
        with_epochs(preset("digits", "disc"), epochs)


@pytest.mark.parametrize("method", OTHERS)
def test_recipes_differ_from_web_to_cifar(method: str) -> None:
    web, cifar = recipe_of(method)(Occasion()), recipe_of(method)(Occasion("symmetric", 0.2, "cifar80n"))
    assert isinstance(web.settings, METHODS[method].settings_class)
    if method not in ("standard", "lond-drs-fast"):  # which are trained as LOND-DRS is
        assert web.optimiser != cifar.optimiser


def test_occasions() -> None:
    assert occasion_of(PRESETS["cifar80n-asym40"]) == Occasion("asymmetric", 0.4, "cifar80n")
    assert occasion_of(PRESETS["web-car"]) == Occasion("web", benchmark="web-car")
    own = replace(PRESETS["digits"].data, source="images")
    assert occasion_of(replace(PRESETS["digits"], data=own)) == Occasion("symmetric", 0.2)
    assert occasion_of(replace(PRESETS["web-car"], data=own)) == Occasion("web")


def test_which_benchmarks_have_few_classes() -> None:
    few = {name for name, config in PRESETS.items() if occasion_of(config).few_classes}
    mini = set(REDUCED)
    assert few == mini | {"cifar10n-sym20", "cifar10n-sym50", "cifar10n-sym80", "cifar10n-asym40"}
    assert not Occasion().few_classes
    # Images of one's own, learned from scratch.
    assert Occasion("symmetric", 0.2).few_classes


def test_memory_fades_as_much_over_a_short_run() -> None:
    config = preset("cifar80n-sym20", "disc")
    short = with_epochs(config, config.train.epochs // 4)
    kept, published = short.settings.confidence_memory, config.settings.confidence_memory
    assert kept ** (config.train.epochs // 4) == pytest.approx(published**config.train.epochs)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PRESETS)
def test_no_phase_starves(method: str, name: str) -> None:
    """On every scale: warm-up as long as that of LOND-DRS, a third of the run after it, steps, and ramps that end."""
    own = recipe_of(method)(occasion_of(PRESETS[name]))
    whole, frozen = preset(name, method), on_frozen(preset(name, method))
    for config, warmup_of_ours in ((whole, PRESETS[name].settings.warmup_epochs), (frozen, 3)):
        epochs, warmup = config.train.epochs, getattr(config.settings, "warmup_epochs", 0)
        if config is frozen or name in REDUCED:
            assert warmup >= warmup_of_ours or not getattr(own.settings, "warmup_epochs", 0)
        assert epochs - warmup >= epochs // 3
        assert getattr(config.settings, "ramp_epochs", 0) <= epochs - warmup
        assert all(0 < memory < 1 for memory in declared(config.settings, Memory).values())
        if limit := config.train.max_steps:
            assert limit >= own.pace * EXTENTS[config.data.benchmark.name].images / config.train.batch_size / 2


def test_half_of_an_epoch_stays() -> None:
    recipe = Recipe(None, step_limits={"mini80": 10, "frozen": 300})
    assert step_limit(recipe, "mini80", 1000, 64) == 10  # 15.6 batches, of which 8 must stay
    assert step_limit(recipe, "mini80", 1000, 20) == 25
    assert step_limit(recipe, "mini80", 1001, 20) == 26
    assert step_limit(replace(recipe, pace=2.0), "mini80", 1000, 64) == 16
    assert step_limit(replace(recipe, pace=0.0), "mini80", 10**6, 1) == 10
    assert step_limit(recipe, "frozen", 1000, 64) == 300
    assert step_limit(recipe, "digits", 10**6, 1) == 0


def test_the_steps_of_cir_plus_by_hand() -> None:
    """900 steps for 50,000 images; mini80 has a fifth of them, and at least half of its 180 steps stay."""
    mini, frozen = preset("mini80-sym50", "cir-plus"), on_frozen(preset("cifar80n-sym20", "cir-plus"))
    assert (mini.settings.iterations, mini.train.max_steps) == (180, 120)
    # Batches of features are twice as large, so 450 steps are a full epoch.
    assert (frozen.settings.iterations, frozen.train.max_steps, frozen.train.batch_size) == (900, 225, 256)


def test_consistency_of_npn_soft_rises_in_short_runs_only() -> None:
    assert preset("cifar80n-sym20", "npn-soft").settings.ramp_epochs == 0
    for config, left in ((preset("mini80-sym50", "npn-soft"), 10), (on_frozen(preset("web-car", "npn-soft")), 5)):
        assert config.settings.ramp_epochs == config.train.epochs - config.settings.warmup_epochs == left
    assert preset("mini80-sym50", "npn-hard").settings.ramp_epochs == 0


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
