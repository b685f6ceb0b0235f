"""The published values of NCE."""

from __future__ import annotations

import pytest

from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate

recipe = RECIPES["nce"]


@pytest.mark.parametrize(
    ("benchmark", "noise", "rate", "verify", "correct", "strong_labelled", "warmup"),
    [
        ("cifar100n", "symmetric", 0.2, 0.9, 0.0, True, 30),
        ("cifar100n", "symmetric", 0.5, 0.9, 0.005, True, 30),
        ("cifar80n", "symmetric", 0.8, 0.9, 0.01, False, 30),
        ("cifar80n", "asymmetric", 0.4, 0.9, 0.01, False, 30),
        ("mini80", "symmetric", 0.2, 0.75, 0.0, False, 10),
        ("mini80", "symmetric", 0.8, 0.75, 0.002, False, 10),
        ("mini80", "asymmetric", 0.4, 0.75, 0.002, False, 10),
        ("digits", "symmetric", 0.5, 0.75, 0.002, False, 10),
    ],
)
def test_cifar(
    benchmark: str, noise: str, rate: float, verify: float, correct: float, strong_labelled: bool, warmup: int
) -> None:
    found = recipe(Occasion(noise, rate, benchmark))  # type: ignore[arg-type]
    settings = found.settings
    assert (settings.verify_threshold, settings.correct_threshold) == (verify, correct)
    assert (settings.strong_labelled, settings.warmup_epochs) == (strong_labelled, warmup)
    assert settings.confidence_penalty is (noise == "asymmetric")
    assert (settings.neighbours, settings.mixup, settings.sharpening) == (20, 4.0, 0.5)
    assert (found.epochs, found.batch_size, found.strong) == (300, 256, "autoaugment")
    assert found.optimiser is not None
    assert (found.optimiser.momentum, found.optimiser.weight_decay, found.optimiser.nesterov) == (0.9, 5e-4, False)
    rates = [learning_rate(epoch, 300, found.optimiser) for epoch in (0, 149, 150, 299)]
    assert rates == pytest.approx([0.02, 0.02, 0.002, 0.002])


def test_web() -> None:
    found = recipe(Occasion())
    settings = found.settings
    assert (settings.head, settings.warmup_epochs, settings.mixup) == ("linear", 1, 0.5)
    assert (settings.verify_threshold, settings.correct_threshold, settings.strong_labelled) == (0.9, 0.05, False)
    assert (found.epochs, found.batch_size, found.strong) == (80, 64, "autoaugment")
    assert found.optimiser is not None
    rates = [learning_rate(epoch, 80, found.optimiser) for epoch in (0, 39, 40, 79)]
    assert rates == pytest.approx([0.01, 0.01, 0.001, 0.001])
