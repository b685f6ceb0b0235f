"""Cross-fit's values by data set, and its rate on features."""

from __future__ import annotations

from lond.presets.benchmarks import preset
from lond.presets.features import on_features, on_frozen
from lond.presets.recipes import RECIPES, Occasion


def test_cifar_and_web() -> None:
    cifar, web = RECIPES["cross-fit"](Occasion("symmetric", 0.2, "cifar80n")), RECIPES["cross-fit"](Occasion())
    assert (cifar.epochs, cifar.batch_size, cifar.settings.warmup_epochs) == (300, 128, 50)
    assert (web.epochs, web.batch_size, web.settings.warmup_epochs) == (100, 32, 10)
    assert cifar.optimiser is not None and web.optimiser is not None
    assert (cifar.optimiser.learning_rate, web.optimiser.learning_rate) == (0.05, 0.005)


def test_features_are_learned_at_the_rate_of_heads() -> None:
    config = on_frozen(preset("cifar80n-sym80", "cross-fit"))
    assert config.optimiser == on_features(50_000).optimiser
    assert (config.settings.warmup_epochs, config.settings.judge_epochs) == (3, 1)
