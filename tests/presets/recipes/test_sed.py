"""The published values of SED."""

from __future__ import annotations

import pytest

from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate

recipe = RECIPES["sed"]


@pytest.mark.parametrize(
    ("occasion", "rates", "epochs", "settings"),
    [
        (Occasion("symmetric", 0.2, "cifar100n"), (0.05, 0.01, 5e-4), 100, (0.9, 0.9, 1, 0.99)),
        (Occasion("symmetric", 0.8, "cifar100n"), (0.01, 0.01, 5e-5), 100, (0.999, 0.99, 1, 0.95)),
        (Occasion("asymmetric", 0.4, "cifar100n"), (0.01, 0.01, 5e-5), 140, (0.9, 0.9, 1, 0.99)),
        (Occasion("symmetric", 0.2, "cifar80n"), (0.05, 0.05, 5e-4), 140, (0.999, 0.85, 0.5, 0.99)),
        (Occasion("symmetric", 0.8, "cifar80n"), (0.05, 0.05, 5e-4), 100, (0.95, 0.85, 1, 0.99)),
        (Occasion("asymmetric", 0.4, "cifar80n"), (0.01, 0.01, 5e-5), 140, (0.9, 0.9, 1, 0.99)),
    ],
)
def test_cifar(
    occasion: Occasion, rates: tuple[float, ...], epochs: int, settings: tuple[float, float, float, float]
) -> None:
    got = recipe(occasion)
    assert (got.epochs, got.batch_size, got.strong) == (epochs, 128, "autoaugment")
    own = got.settings
    assert (own.threshold_memory, own.moment_memory, own.ssl_weight, own.teacher_momentum) == settings
    assert (own.warmup_epochs, own.quantile, own.label_smoothing) == (20, 0.8, 0)
    optimiser = got.optimiser
    assert optimiser is not None and optimiser.nesterov and optimiser.weight_decay == 5e-4
    assert learning_rate(19, epochs, optimiser) == rates[0]
    assert learning_rate(20, epochs, optimiser) == pytest.approx(rates[1], rel=0.01)
    assert learning_rate(epochs - 1, epochs, optimiser) == pytest.approx(rates[2])


def test_other_benchmarks_take_the_nearest_row_of_cifar80n() -> None:
    assert recipe(Occasion("symmetric", 0.4, "digits")) == recipe(Occasion("symmetric", 0.2, "cifar80n"))
    assert recipe(Occasion("symmetric", 0.5, "mini80")) == recipe(Occasion("symmetric", 0.2, "cifar80n"))
    assert recipe(Occasion("symmetric", 0.7)) == recipe(Occasion("symmetric", 0.8, "cifar80n"))
    assert recipe(Occasion("asymmetric", 0.1, "cifar10n")) == recipe(Occasion("asymmetric", 0.4, "cifar80n"))


def test_web() -> None:
    got = recipe(Occasion())
    assert (got.epochs, got.batch_size, got.strong, got.settings.head) == (110, 32, "randaugment", "linear")
    own = got.settings
    assert (own.warmup_epochs, own.threshold_memory, own.moment_memory) == (10, 0.999, 0.99)
    assert (own.ssl_weight, own.teacher_momentum, own.label_smoothing) == (0.5, 0.95, 0.3)
    assert got.optimiser is not None
    rates = [learning_rate(epoch, 110, got.optimiser) for epoch in (0, 9, 109)]
    assert rates == pytest.approx([0.005, 0.005, 5e-4])
