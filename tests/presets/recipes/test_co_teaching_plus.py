"""Co-teaching+: the published values."""

from __future__ import annotations

import pytest

from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate

recipe = RECIPES["co-teaching-plus"]


@pytest.mark.parametrize(
    ("occasion", "rate", "initial"),
    [
        (Occasion("symmetric", 0.8, "cifar100n"), 0.8, 5),
        (Occasion("asymmetric", 0.4, "cifar10n"), 0.2, 20),
        (Occasion("symmetric", 0.5, "digits"), 0.5, 20),
        (Occasion(), 0.3, 5),
    ],
)
def test_settings(occasion: Occasion, rate: float, initial: int) -> None:
    settings = recipe(occasion).settings
    assert settings.noise_rate == pytest.approx(rate)
    assert (settings.initial_epochs, settings.ramp_epochs, settings.head) == (initial, 10, "linear")
    assert not settings.softmax_before_loss


def test_cifar() -> None:
    published = recipe(Occasion("symmetric", 0.2))
    assert published.optimiser is not None
    assert (published.epochs, published.batch_size, published.optimiser.late_momentum) == (200, 128, 0.1)
    rates = [learning_rate(epoch, 200, published.optimiser) for epoch in (0, 80, 140, 199)]
    assert rates == pytest.approx([1e-3, 1e-3, 5e-4, 1e-3 / 120])


def test_web_is_trained_like_co_teaching() -> None:
    ours, plain = recipe(Occasion()), RECIPES["co-teaching"](Occasion())
    assert (ours.optimiser, ours.epochs, ours.batch_size) == (plain.optimiser, plain.epochs, plain.batch_size)
