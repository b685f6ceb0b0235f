"""NPN's published values."""

from __future__ import annotations

import pytest

from lond.methods import NpnHardSettings, NpnSoftSettings
from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate

VARIANTS = {"npn-hard": NpnHardSettings, "npn-soft": NpnSoftSettings}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("occasion", [Occasion("symmetric", 0.8), Occasion("asymmetric", 0.4)])
def test_cifar(name: str, occasion: Occasion) -> None:
    recipe = RECIPES[name](occasion)
    assert recipe.settings == VARIANTS[name]()
    assert (recipe.epochs, recipe.batch_size, recipe.strong) == (300, 128, "autoaugment")
    plan = recipe.optimiser
    assert plan is not None
    assert (plan.momentum, plan.nesterov, plan.weight_decay) == (0.9, True, 5e-4)
    assert [learning_rate(epoch, 300, plan) for epoch in (0, 199, 299)] == pytest.approx([0.05, 0.05, 5e-5])


@pytest.mark.parametrize("name", VARIANTS)
def test_web(name: str) -> None:
    recipe = RECIPES[name](Occasion())
    assert recipe.settings == VARIANTS[name](
        head="linear", warmup_epochs=40, top_k=1, label_smoothing=0.2, consistency_weight=2.0
    )
    assert (recipe.epochs, recipe.batch_size, recipe.strong) == (100, 32, "randaugment")
    plan = recipe.optimiser
    assert plan is not None
    assert [learning_rate(epoch, 100, plan) for epoch in (39, 99)] == pytest.approx([0.005, 5e-5])
    assert learning_rate(40, 100, plan) == pytest.approx(0.008, rel=1e-2)
