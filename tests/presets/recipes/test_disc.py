"""DISC's published values."""

from __future__ import annotations

import pytest

from lond.methods import DiscSettings
from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate


@pytest.mark.parametrize(
    ("noise", "rate", "memory", "hard_weight", "optimiser"),
    [
        ("symmetric", 0.2, 0.99, 1.0, "sgd"),
        ("symmetric", 0.6, 0.95, 0.2, "sgd"),
        ("symmetric", 0.8, 0.95, 0.2, "adam"),
        ("asymmetric", 0.4, 0.95, 1.0, "sgd"),
    ],
)
def test_cifar(noise: str, rate: float, memory: float, hard_weight: float, optimiser: str) -> None:
    recipe = RECIPES["disc"](Occasion(noise, rate))  # type: ignore[arg-type]
    assert recipe.settings == DiscSettings(confidence_memory=memory, hard_weight=hard_weight)
    assert recipe.settings.warmup_epochs == 20
    assert (recipe.epochs, recipe.batch_size, recipe.strong) == (200, 128, "randaugment")
    plan = recipe.optimiser
    assert plan is not None
    assert plan.name == optimiser
    rates = [learning_rate(epoch, 200, plan) for epoch in (0, 79, 80, 119, 159, 160, 199)]
    if optimiser == "adam":
        assert (plan.momentum, plan.late_momentum, plan.weight_decay) == (0.9, 0.1, 0)
        assert rates == pytest.approx([1e-3, 1e-3, 1e-3, 1e-3, 41e-3 / 80, 5e-4, 1e-3 / 80])
    else:
        assert (plan.momentum, plan.weight_decay) == (0, 1e-3)
        assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001])


def test_web() -> None:
    recipe = RECIPES["disc"](Occasion())
    assert recipe.settings == DiscSettings(head="linear", warmup_epochs=10, confidence_memory=0.95)
    assert (recipe.epochs, recipe.batch_size) == (100, 32)
    plan = recipe.optimiser
    assert plan is not None
    assert (plan.learning_rate, plan.momentum, plan.weight_decay) == (0.01, 0, 5e-4)
    rates = [learning_rate(epoch, 100, plan) for epoch in (0, 49, 50, 79, 80, 99)]
    assert rates == pytest.approx([0.01, 0.01, 1e-3, 1e-3, 1e-4, 1e-4])
