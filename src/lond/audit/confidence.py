"""Class probabilities that mean what they say, found from labels of which some are wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

TEMPERATURES = tuple(float(value) for value in np.geomspace(0.05, 5, 60))
"""Temperatures that are tried."""

RATES = tuple(float(value) for value in np.linspace(0, 0.98, 50))
"""Rates of wrong labels that are tried."""

_ROWS = 8192
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Sharpness:
    """The temperature that fits the probabilities to the labels, and the rate of wrong labels that goes with it."""

    temperature: float
    wrong_labels: float


def fit_sharpness(probabilities: Tensor, labels: Tensor) -> Sharpness:
    """Return the most likely temperature T and rate r of labels that were replaced by another class at random.

    A label g then has the probability ``(1 - r) p_T(g) + r (1 - p_T(g)) / (C - 1)`` with ``p_T ~ p^(1/T)``. Fitting T
    alone would take wrong labels for doubt; fitting r alone, with an unsure model, doubt for wrong labels or the other
    way round. The probabilities must come from a model that did not learn these labels.

    Args:
        probabilities: ``(N, C)``, rows sum to one.
        labels: ``(N,)`` given labels; unlabelled rows (negative) do not count.

    Returns:
        The best pair of a grid; temperature 1 if there is nothing to fit.
    """
    rows = labels >= 0
    classes = probabilities.shape[1]
    if classes < 2 or not rows.any():
        return Sharpness(1.0, 0.0)
    logs = probabilities[rows].double().clamp_min(_SMALLEST).log()
    given = labels[rows].unsqueeze(1)
    rates = torch.tensor(RATES, dtype=torch.float64)
    best = torch.stack([_likelihoods(logs, given, temperature, rates, classes) for temperature in TEMPERATURES])
    place = int(best.argmax())
    return Sharpness(TEMPERATURES[place // len(RATES)], RATES[place % len(RATES)])


def _likelihoods(logs: Tensor, given: Tensor, temperature: float, rates: Tensor, classes: int) -> Tensor:
    """Return the log-likelihood of every rate at one temperature, ``(R,)``."""
    total = torch.zeros_like(rates)
    for part, own in zip(logs.split(_ROWS), given.split(_ROWS), strict=True):
        chance = F.softmax(part / temperature, dim=1).gather(1, own)
        mixed = (1 - rates) * chance + rates * (1 - chance) / (classes - 1)
        total += mixed.clamp_min(_SMALLEST).log().sum(dim=0)
    return total
