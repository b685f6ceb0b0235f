"""NGC's published values."""

from __future__ import annotations

import pytest

from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate


@pytest.mark.parametrize(
    ("benchmark", "noise", "warmup", "neighbours", "eta_high"),
    [
        ("cifar80n", "symmetric", 30, 200, 0.8),
        ("cifar100n", "asymmetric", 30, 200, 0.6),
        ("cifar10n", "symmetric", 5, 30, 0.7),
        ("cifar10n", "asymmetric", 30, 10, 0.7),
        ("mini80", "symmetric", 30, None, 0.8),
    ],
)
def test_cifar(benchmark: str, noise: str, warmup: int, neighbours: int | None, eta_high: float) -> None:
    recipe = RECIPES["ngc"](Occasion(noise, 0.5, benchmark))  # type: ignore[arg-type]
    settings, optimiser = recipe.settings, recipe.optimiser
    assert (settings.warmup_epochs, settings.neighbours, settings.eta_high) == (warmup, neighbours, eta_high)
    assert (settings.mixup, settings.mix_both_views, settings.temperature, settings.head) == (8, True, 0.3, "linear")
    assert settings.eta_low is None
    assert (recipe.epochs, recipe.batch_size, recipe.strong) == (300, 512, "augmix")
    assert optimiser is not None
    assert (optimiser.momentum, optimiser.nesterov, optimiser.weight_decay) == (0.9, False, 5e-4)
    assert learning_rate(0, 300, optimiser) == pytest.approx(0.15, rel=1e-3)
    assert learning_rate(299, 300, optimiser) == pytest.approx(2e-4)


def test_web() -> None:
    recipe = RECIPES["ngc"](Occasion())
    settings = recipe.settings
    assert (settings.warmup_epochs, settings.neighbours, settings.eta_high) == (10, 50, 0.8)
    assert (settings.mixup, settings.mix_both_views, settings.head) == (0.5, False, "linear")
    assert (recipe.epochs, recipe.batch_size, recipe.strong) == (100, 32, "augmix")
    assert recipe.optimiser is not None
    assert (recipe.optimiser.learning_rate, recipe.optimiser.nesterov) == (0.005, False)
