"""The published values of DivideMix."""

from __future__ import annotations

import pytest

from lond.presets.recipes import Occasion
from lond.presets.recipes.dividemix import recipe
from lond.train.schedule import learning_rate


@pytest.mark.parametrize(
    ("noise", "rate", "benchmark", "weight", "threshold", "history", "penalty", "warmup"),
    [
        ("symmetric", 0.2, "cifar100n", 25, 0.5, 0, False, 30),
        ("symmetric", 0.2, "cifar80n", 25, 0.5, 0, False, 30),
        ("symmetric", 0.5, "cifar100n", 150, 0.5, 0, False, 30),
        ("symmetric", 0.8, "cifar80n", 150, 0.5, 0, False, 30),
        ("symmetric", 0.9, "cifar100n", 150, 0.6, 5, False, 30),
        ("asymmetric", 0.4, "cifar80n", 25, 0.5, 0, True, 30),
        ("symmetric", 0.2, "cifar10n", 0, 0.5, 0, False, 10),
        ("symmetric", 0.5, "cifar10n", 25, 0.5, 0, False, 10),
        ("symmetric", 0.9, "cifar10n", 50, 0.6, 5, False, 10),
        ("asymmetric", 0.4, "cifar10n", 0, 0.5, 0, True, 10),
        ("symmetric", 0.5, "digits", 25, 0.5, 0, False, 10),
    ],
)
def test_cifar(
    noise: str, rate: float, benchmark: str, weight: float, threshold: float, history: int, penalty: bool, warmup: int
) -> None:
    found = recipe(Occasion(noise, rate, benchmark))  # type: ignore[arg-type]
    settings = found.settings
    assert (settings.unlabelled_weight, settings.clean_threshold, settings.loss_history) == (weight, threshold, history)
    assert (settings.confidence_penalty, settings.warmup_epochs) == (penalty, warmup)
    assert (settings.sharpening, settings.mixup, settings.ramp_epochs) == (0.5, 4, 16)
    assert (found.epochs, found.batch_size) == (300, 128)
    assert found.optimiser is not None
    assert (found.optimiser.momentum, found.optimiser.weight_decay, found.optimiser.nesterov) == (0.9, 5e-4, False)
    rates = [learning_rate(epoch, 300, found.optimiser) for epoch in (0, 149, 150, 299)]
    assert rates == pytest.approx([0.02, 0.02, 0.002, 0.002])


def test_web() -> None:
    found = recipe(Occasion())
    settings = found.settings
    assert (settings.head, settings.unlabelled_weight, settings.mixup, settings.warmup_epochs) == ("linear", 0, 0.5, 1)
    assert settings.confidence_penalty
    assert (found.epochs, found.batch_size) == (80, 64)
    assert found.optimiser is not None
    assert found.optimiser.weight_decay == 1e-3
    rates = [learning_rate(epoch, 80, found.optimiser) for epoch in (0, 39, 40, 79)]
    assert rates == pytest.approx([0.002, 0.002, 2e-4, 2e-4])
