"""Co-teaching: the published values."""

from __future__ import annotations

import pytest

from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate

recipe = RECIPES["co-teaching"]


@pytest.mark.parametrize(
    ("occasion", "rate"),
    [
        (Occasion("symmetric", 0.2), 0.2),
        (Occasion("symmetric", 0.8, "cifar80n"), 0.8),
        (Occasion("asymmetric", 0.4), 0.2),
        (Occasion(), 0.3),
    ],
)
def test_assumed_noise_rate(occasion: Occasion, rate: float) -> None:
    settings = recipe(occasion).settings
    assert settings.noise_rate == pytest.approx(rate)
    assert (settings.ramp_epochs, settings.ramp_exponent, settings.head) == (10, 1, "linear")


def test_cifar() -> None:
    published = recipe(Occasion("symmetric", 0.2))
    optimiser = published.optimiser
    assert optimiser is not None
    assert (published.epochs, published.batch_size) == (200, 128)
    assert (optimiser.name, optimiser.weight_decay) == ("adam", 0)
    assert (optimiser.momentum, optimiser.late_momentum) == (0.9, 0.1)
    rates = [learning_rate(epoch, 200, optimiser) for epoch in (0, 100, 150, 199)]
    assert rates == pytest.approx([1e-3, 1e-3, 5e-4, 1e-5])


def test_web() -> None:
    published = recipe(Occasion())
    optimiser = published.optimiser
    assert optimiser is not None
    assert (published.epochs, published.batch_size) == (110, 32)
    assert (optimiser.name, optimiser.learning_rate, optimiser.plan) == ("sgd", 0.005, "cosine")
    assert (optimiser.nesterov, optimiser.weight_decay, optimiser.constant_epochs) == (True, 5e-4, 0)
