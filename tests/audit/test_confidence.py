"""Temperature and rate of wrong labels, found together."""

from __future__ import annotations

import math

import pytest
import torch

from lond.audit.confidence import RATES, TEMPERATURES, fit_sharpness
from lond.types import UNLABELLED


def drawn(count: int, classes: int, rate: float, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return calibrated probabilities, and labels drawn from them of which a share is replaced by another class."""
    random = torch.Generator().manual_seed(seed)
    probabilities = torch.softmax(3 * torch.randn(count, classes, generator=random, dtype=torch.float64), dim=1)
    labels = torch.multinomial(probabilities, 1, generator=random).squeeze(1)
    wrong = torch.rand(count, generator=random) < rate
    other = (labels + torch.randint(1, classes, (count,), generator=random)) % classes
    return probabilities, torch.where(wrong, other, labels)


@pytest.mark.parametrize("classes", [3, 10])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("distortion", [0.5, 1.0, 2.0])
def test_a_known_distortion_and_rate_are_found(classes: int, rate: float, distortion: float) -> None:
    true, labels = drawn(8000, classes, rate)
    told = torch.softmax(true.log() * distortion, dim=1)
    found = fit_sharpness(told, labels)
    # p^distortion is undone by the temperature of the same name.
    assert found.temperature == pytest.approx(distortion, rel=0.25)
    assert found.wrong_labels == pytest.approx(rate, abs=0.06)


def test_equals_a_slow_search() -> None:
    probabilities, labels = drawn(40, 4, 0.3, seed=3)
    labels[:5] = UNLABELLED
    best = (-math.inf, 0.0, 0.0)
    for temperature in TEMPERATURES:
        for rate in RATES:
            total = 0.0
            for row, label in zip(probabilities.tolist(), labels.tolist(), strict=True):
                if label >= 0:
                    powers = [value ** (1 / temperature) for value in row]
                    own = powers[label] / sum(powers)
                    total += math.log(max(1e-12, (1 - rate) * own + rate * (1 - own) / 3))
            best = max(best, (total, temperature, rate))
    found = fit_sharpness(probabilities, labels)
    assert (found.temperature, found.wrong_labels) == pytest.approx(best[1:])


def test_nothing_to_fit_changes_nothing() -> None:
    assert fit_sharpness(torch.full((3, 2), 0.5), torch.full((3,), UNLABELLED)).temperature == 1
    assert fit_sharpness(torch.ones(3, 1), torch.zeros(3, dtype=torch.long)).temperature == 1
    assert fit_sharpness(torch.empty(0, 2), torch.empty(0, dtype=torch.long)).temperature == 1
