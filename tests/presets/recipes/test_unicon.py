"""The published values of UNICON."""

from __future__ import annotations

import pytest

from lond.presets.recipes import Occasion
from lond.presets.recipes.unicon import recipe
from lond.train.schedule import learning_rate


@pytest.mark.parametrize(
    ("noise", "rate", "benchmark", "penalty", "batch", "warmup"),
    [
        ("symmetric", 0.2, "cifar100n", False, 0.5, 30),
        ("symmetric", 0.8, "cifar80n", False, 1.0, 30),
        ("asymmetric", 0.4, "cifar80n", True, 0.5, 30),
        ("symmetric", 0.5, "cifar10n", False, 0.5, 10),
        ("symmetric", 0.5, "digits", False, 0.5, 10),
    ],
)
def test_cifar(noise: str, rate: float, benchmark: str, penalty: bool, batch: float, warmup: int) -> None:
    found = recipe(Occasion(noise, rate, benchmark))  # type: ignore[arg-type]
    settings = found.settings
    assert (settings.confidence_penalty, settings.unlabelled_batch, settings.warmup_epochs) == (penalty, batch, warmup)
    assert (settings.sharpening, settings.mixup, settings.unlabelled_weight, settings.ramp_epochs) == (0.5, 4, 30, 16)
    assert (settings.contrastive_weight, settings.temperature, settings.embedding_size) == (0.025, 0.05, 128)
    assert (settings.divergence_limit, settings.correction) == (0.7, 5)
    assert (found.epochs, found.batch_size, found.strong) == (350, 128, "autoaugment")
    assert found.optimiser is not None
    assert (found.optimiser.momentum, found.optimiser.weight_decay, found.optimiser.nesterov) == (0.9, 5e-4, False)
    assert learning_rate(0, 350, found.optimiser) == pytest.approx(0.02, rel=1e-3)
    assert learning_rate(349, 350, found.optimiser) == pytest.approx(2e-4)


def test_web() -> None:
    found = recipe(Occasion())
    settings = found.settings
    assert (settings.head, settings.unlabelled_weight, settings.mixup, settings.warmup_epochs) == ("linear", 0, 0.5, 2)
    assert (settings.contrastive_weight, settings.unlabelled_batch) == (0.025, 0)
    assert (found.epochs, found.batch_size) == (200, 64)
    assert found.optimiser is not None
    assert (found.optimiser.learning_rate, found.optimiser.weight_decay) == (0.005, 1e-3)
    assert learning_rate(199, 200, found.optimiser) == pytest.approx(1e-5)
