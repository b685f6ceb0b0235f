"""Putting a method's recipe into a preset, at the preset's length or at another."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from lond.config import RunConfig, settings_class
from lond.data.benchmarks import EXTENTS
from lond.presets.changes import declared, with_epochs
from lond.presets.recipes import Occasion, Recipe, recipe_of
from lond.presets.recipes.base import extended
from lond.train.schedule import OptimiserSettings
from lond.types import FirstEpochs

FULL_SCALE = ("cifar10n", "cifar80n", "cifar100n", "web-aircraft", "web-bird", "web-car")
"""Benchmarks on which every method is trained for as long as it was published."""

NATURAL_IMAGES = ("autoaugment", "randaugment")
"""Strong views that a recipe may replace; others were chosen for images that are not photographs."""


def with_method(config: RunConfig, method: str) -> RunConfig:
    """Return a preset of LOND-DRS with another method in its place: same data, network and weak views.

    The method brings its published settings, optimiser, batch size and, at full scale, length. A reduced preset, or
    one for a user's own data, keeps its length (see ``shortened``); a reduced benchmark may limit the steps. A method
    that extends the preset's takes over its settings, and its batches or, on images, a share of them.

    Raises:
        ConfigError: there is no such method.
    """
    make = recipe_of(method)
    if method == config.method:
        return config
    recipe = make(occasion_of(config))
    if issubclass(settings_class(method), type(config.settings)):
        settings = extended(settings_class(method), config.settings)
        share = 1.0 if config.net.backbone == "features" else recipe.batch_share
        train = replace(config.train, batch_size=max(2, round(share * config.train.batch_size)))
        return replace(config, method=method, settings=settings, train=train)
    benchmark = "" if config.data.source else config.data.benchmark.name
    published = replace(
        config,
        method=method,
        settings=recipe.settings,
        optimiser=recipe.optimiser or config.optimiser,
        train=replace(
            config.train,
            epochs=recipe.epochs or config.train.epochs,
            batch_size=recipe.batch_size or config.train.batch_size,
        ),
    )
    if recipe.strong and config.views.strong in NATURAL_IMAGES:
        published = replace(published, views=replace(config.views, strong=recipe.strong))
    if benchmark not in FULL_SCALE and recipe.optimiser is not None:
        published = shortened(published, config)
    if config.net.backbone == "features" and recipe.trains_as_heads:
        published = replace(published, optimiser=config.optimiser, train=config.train)
    if benchmark not in recipe.step_limits:
        return published
    steps = step_limit(recipe, benchmark, EXTENTS[benchmark].images, published.train.batch_size)
    return replace(published, train=replace(published.train, max_steps=steps))


def step_limit(recipe: Recipe, place: str, images: int, batch_size: int) -> int:
    """Return the most steps of a phase after warm-up; 0 = no limit.

    Whatever the recipe says, half of the steps of a full phase stay: a method that learns from fewer images an epoch
    than it was made for is not the published one any more.

    Args:
        recipe: of the method.
        place: name of a benchmark, or "frozen".
        images: number of training images.
        batch_size: of the run.
    """
    limit = recipe.step_limits.get(place, 0)
    return max(limit, math.ceil(recipe.pace * images / batch_size / 2)) if limit else 0


def occasion_of(config: RunConfig) -> Occasion:
    """Return what published values depend on.

    Images of unknown noise take the web column, or the one of 20 % symmetric noise if they are learned from scratch.
    """
    benchmark = config.data.benchmark
    if config.data.source:
        return Occasion() if config.net.pretrained else Occasion("symmetric", 0.2)
    if benchmark.name.startswith("web-"):
        return Occasion(benchmark=benchmark.name)
    return Occasion(benchmark.noise.kind, benchmark.noise.closed_rate, benchmark.name)


def shortened(published: RunConfig, preset: RunConfig) -> RunConfig:
    """Return a method's published run at the length of a reduced preset.

    The warm-up keeps its share of the run but is never shorter than the preset's own (a share of a short run is too
    little to learn anything); what happens afterwards keeps its share of what is left. Ramps keep their epochs up to
    the preset's own ramp and to the first step down of the rate; one that lasts to the end still does. What is
    remembered from epoch to epoch fades as much over the whole run as it did. Batches are at most twice the preset's.
    A recipe may add what only a short run needs.
    """
    own, epochs = preset.settings, preset.train.epochs
    short = with_epochs(published, epochs)
    warmup = getattr(published.settings, "warmup_epochs", 0)
    new_warmup = min(epochs - 1, max(short.settings.warmup_epochs, own.warmup_epochs)) if warmup else 0

    def moved(time: int) -> int:
        """Return when something happens that happened at an epoch of the published run."""
        if time <= warmup:
            return round(time * new_warmup / warmup) if warmup else 0
        return new_warmup + round((time - warmup) / (published.train.epochs - warmup) * (epochs - new_warmup))

    optimiser = replace(
        published.optimiser,
        constant_epochs=moved(published.optimiser.constant_epochs),
        milestones=tuple(moved(time) for time in published.optimiser.milestones),
    )
    changes: dict[str, Any] = {"warmup_epochs": new_warmup} if warmup else {}
    ramp = getattr(published.settings, "ramp_epochs", 0)
    if ramp:
        to_the_end = warmup + ramp == published.train.epochs
        first_step = min(optimiser.milestones, default=epochs) - new_warmup
        changes["ramp_epochs"] = epochs - new_warmup if to_the_end else max(1, min(ramp, own.ramp_epochs, first_step))
    for name, value in declared(published.settings, FirstEpochs).items():
        changes[name] = min(value, own.warmup_epochs)
    batch_size = min(published.train.batch_size, 2 * preset.train.batch_size)
    recipe = recipe_of(published.method)(occasion_of(published))
    return replace(
        short,
        settings=recipe.when_short(replace(short.settings, **changes), epochs - new_warmup),
        optimiser=slowed(optimiser, batch_size / published.train.batch_size),
        train=replace(short.train, batch_size=batch_size),
    )


def slowed(optimiser: OptimiserSettings, share: float) -> OptimiserSettings:
    """Return an optimiser for batches of ``share`` times the size: the rates of SGD go with it, Adam's stay."""
    if optimiser.name != "sgd" or share == 1:
        return optimiser
    constant = optimiser.constant_rate
    return replace(
        optimiser,
        learning_rate=share * optimiser.learning_rate,
        constant_rate=None if constant is None else share * constant,
        final_rate=share * optimiser.final_rate,
    )
