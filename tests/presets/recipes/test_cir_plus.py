"""The released values of CIR+."""

from __future__ import annotations

import pytest

from lond.presets.recipes import RECIPES, Occasion
from lond.train.schedule import learning_rate

recipe = RECIPES["cir-plus"]


@pytest.mark.parametrize(
    ("benchmark", "noise", "rate", "negatives", "warmup", "iterations"),
    [
        ("cifar100n", "symmetric", 0.2, "hard", 30, 900),
        ("cifar80n", "symmetric", 0.8, "random", 30, 900),
        ("cifar80n", "asymmetric", 0.4, "hard", 30, 900),
        ("cifar10n", "symmetric", 0.5, "hard", 10, 900),
        ("mini80", "symmetric", 0.5, "hard", 10, 180),
        ("digits", "symmetric", 0.5, "hard", 10, 22),
        ("", "symmetric", 0.2, "hard", 10, 0),
    ],
)
def test_cifar(benchmark: str, noise: str, rate: float, negatives: str, warmup: int, iterations: int) -> None:
    found = recipe(Occasion(noise, rate, benchmark))  # type: ignore[arg-type]
    settings = found.settings
    assert (settings.negatives, settings.warmup_epochs, settings.iterations) == (negatives, warmup, iterations)
    assert settings.confidence_penalty is (noise == "asymmetric")
    assert (settings.confidence, settings.small_loss_share, settings.sharpening) == (0.9, 0.01, 0.5)
    assert (settings.mixup, settings.unlabelled_weight, settings.ramp_epochs) == (4.0, 30.0, 16)
    assert (found.epochs, found.batch_size) == (300, 128)
    assert found.optimiser is not None
    assert (found.optimiser.momentum, found.optimiser.weight_decay, found.optimiser.nesterov) == (0.9, 5e-4, False)
    rates = [learning_rate(epoch, 300, found.optimiser) for epoch in (0, 149, 150, 299)]
    assert rates == pytest.approx([0.02, 0.02, 0.0002, 0.0002])


def test_web() -> None:
    found = recipe(Occasion())
    settings = found.settings
    assert (settings.head, settings.warmup_epochs, settings.iterations) == ("linear", 10, 0)
    assert (settings.mixup, settings.unlabelled_weight, settings.rotation_weight) == (0.5, 0.0, 0.0)
    assert (found.epochs, found.batch_size) == (100, 64)
    assert found.optimiser is not None
    assert (found.optimiser.plan, found.optimiser.learning_rate) == ("cosine", 0.005)
