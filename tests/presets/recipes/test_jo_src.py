"""The published values of Jo-SRC."""

from __future__ import annotations

import pytest

from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate

recipe = RECIPES["jo-src"]


def test_cifar() -> None:
    got = recipe(Occasion("symmetric", 0.2, "cifar80n"))
    assert got == recipe(Occasion("asymmetric", 0.4, "cifar100n"))
    assert (got.epochs, got.batch_size) == (200, 128)
    settings = got.settings
    assert (settings.warmup_epochs, settings.ramp_epochs) == (10, 190)
    assert (settings.clean_threshold, settings.final_threshold) == (0.75, 0.95)
    assert (settings.consistency_weight, settings.teacher_momentum, settings.head) == (0.5, 0.99, "mlp")
    optimiser = got.optimiser
    assert optimiser is not None
    assert (optimiser.name, optimiser.weight_decay, optimiser.momentum, optimiser.late_momentum) == (
        "adam",
        0,
        0.9,
        0.1,
    )
    rates = [learning_rate(epoch, 200, optimiser) for epoch in (0, 79, 80, 140, 199)]
    assert rates == pytest.approx([1e-3, 1e-3, 1e-3, 5e-4, 1e-3 / 120])


def test_web() -> None:
    got = recipe(Occasion())
    assert (got.epochs, got.batch_size) == (100, 64)
    assert (got.settings.head, got.settings.hidden) == ("mlp", 4096)
    assert (got.settings.label_smoothing, got.settings.consistency_weight) == (0.3, 0.1)
    assert got.settings.warmup_epochs + got.settings.ramp_epochs == got.epochs
    assert recipe(Occasion(benchmark="web-bird")).epochs == 120
    assert got.optimiser is not None
    assert (got.optimiser.plan, got.optimiser.weight_decay, got.optimiser.constant_epochs) == ("cosine", 1e-5, 0)
    assert learning_rate(0, 100, got.optimiser) == pytest.approx(0.01, rel=1e-3)
    assert learning_rate(99, 100, got.optimiser) == pytest.approx(1e-5)
