"""Temperature and rate of wrong labels, found together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lond.audit.rates.confidence import RATES, TEMPERATURES, expected_agreement, fit_agreement
from lond.types import UNLABELLED


def drawn(
    count: int, classes: int, rate: float, seed: int = 0, *, uneven: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return calibrated probabilities, and labels drawn from them of which a share is replaced by another class.

    Uneven noise replaces a class by the next one always, even noise by any other.
    """
    random = torch.Generator().manual_seed(seed)
    probabilities = torch.softmax(3 * torch.randn(count, classes, generator=random, dtype=torch.float64), dim=1)
    labels = torch.multinomial(probabilities, 1, generator=random).squeeze(1)
    wrong = torch.rand(count, generator=random) < rate
    step = torch.ones(count, dtype=torch.long) if uneven else torch.randint(1, classes, (count,), generator=random)
    return probabilities, torch.where(wrong, (labels + step) % classes, labels)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("classes", [3, 10])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("distortion", [0.5, 1.0, 2.0])
def test_a_known_distortion_and_rate_are_found(classes: int, rate: float, distortion: float, uneven: bool) -> None:
    true, labels = drawn(8000, classes, rate, uneven=uneven)
    told = torch.softmax(true.log() * distortion, dim=1)
    found = fit_agreement(told, labels)
    assert found is not None
    # p^distortion is undone by the temperature of the same name.
    assert found.temperature == pytest.approx(distortion, rel=0.25)
    assert found.wrong_labels == pytest.approx(rate, abs=0.06)
    assert float(found.rate_weights() @ np.array(RATES)) == pytest.approx(rate, abs=0.06)


def test_equals_a_slow_search() -> None:
    probabilities, labels = drawn(40, 4, 0.3, seed=3)
    labels[:5] = UNLABELLED
    table = np.empty((len(TEMPERATURES), len(RATES)))
    for at, temperature in enumerate(TEMPERATURES):
        for place, rate in enumerate(RATES):
            table[at, place] = 0.0
            for row, label in zip(probabilities.tolist(), labels.tolist(), strict=True):
                if label >= 0:
                    odds = sum((value / max(row)) ** (1 / temperature) for value in row)
                    confidence = min(max(1 / odds, 1 / (1 + math.exp(12))), 1 / (1 + math.exp(-12)))
                    chance = (1 - rate) * confidence + rate * (1 - confidence) / 3
                    table[at, place] += math.log(chance if row.index(max(row)) == label else 1 - chance)
    found = fit_agreement(probabilities, labels)
    assert found is not None
    # Confidences are counted in cells, hence not exactly.
    assert np.abs(found.likelihoods - table).max() < 0.5
    assert found.temperature == pytest.approx(TEMPERATURES[int(table.argmax()) // len(RATES)], rel=0.1)
    assert found.wrong_labels == pytest.approx(RATES[int(table.argmax()) % len(RATES)], abs=0.01)
    assert found.rate_weights().sum() == pytest.approx(1)


def test_agreement_by_hand() -> None:
    confidence, rate = np.array([0.9, 0.5]), np.array([0.2, 0.0])
    assert expected_agreement(confidence, rate, 5) == pytest.approx([0.8 * 0.9 + 0.2 * 0.1 / 4, 0.5])
    assert expected_agreement(np.array([1.0]), np.array([1.0]), 2) == pytest.approx([0.0])


def test_nothing_to_fit() -> None:
    assert fit_agreement(torch.full((3, 2), 0.5), torch.full((3,), UNLABELLED)) is None
    assert fit_agreement(torch.ones(3, 1), torch.zeros(3, dtype=torch.long)) is None
    assert fit_agreement(torch.empty(0, 2), torch.empty(0, dtype=torch.long)) is None
