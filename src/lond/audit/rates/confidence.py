"""Class probabilities that mean what they say, found from labels of which some are wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]

TEMPERATURES = tuple(float(value) for value in np.geomspace(0.05, 5, 60))
"""Temperatures that are tried."""

RATES = tuple(float(value) for value in np.linspace(0, 0.98, 393))
"""Rates of wrong labels that are tried."""

_ROWS = 8192
_LAST_ODDS, _CELLS = 12.0, 1001


@dataclass(frozen=True)
class Agreement:
    """How temperature and rate of wrong labels explain that a model and the labels agree, or do not.

    ``likelihoods`` are the logarithms for every pair of ``TEMPERATURES`` and ``RATES``, ``(T, R)``.
    """

    likelihoods: Floats

    @property
    def temperature(self) -> float:
        """The temperature of the most likely pair."""
        return TEMPERATURES[int(self.likelihoods.argmax()) // len(RATES)]

    @property
    def wrong_labels(self) -> float:
        """The rate of the most likely pair."""
        return RATES[int(self.likelihoods.argmax()) % len(RATES)]

    def rate_weights(self) -> Floats:
        """Return how likely each of ``RATES`` is, whatever the temperature, ``(R,)``; they sum to one."""
        weights = np.exp(self.likelihoods - self.likelihoods.max()).sum(axis=0)
        shares: Floats = weights / weights.sum()
        return shares


def expected_agreement(confidence: Floats, rate: Floats, classes: int) -> Floats:
    """Return how likely the label is the predicted class: ``(1 - r) m + r (1 - m) / (C - 1)``.

    The label is right with probability 1 - r and the prediction with probability m, its ``confidence``. A wrong label
    meets a wrong prediction by chance.
    """
    agreement: Floats = (1 - rate) * confidence + rate * (1 - confidence) / (classes - 1)
    return agreement


def fit_agreement(probabilities: Tensor, labels: Tensor) -> Agreement | None:
    """Return the likelihood of temperatures T and rates r of wrong labels, with ``p_T ~ p^(1/T)``.

    The surest predictions are nearly always right: where they differ from the label, the label is wrong, whichever
    class it was replaced by. So the level at which agreement ends gives r, and how it falls with the confidence gives
    T. Asking for the very label instead would take frequent confusions in the labels for doubt of the model. The
    probabilities must come from a model that did not learn these labels, and foreign images should be few.

    Args:
        probabilities: ``(N, C)``, rows sum to one.
        labels: ``(N,)`` given labels; unlabelled rows (negative) do not count.

    Returns:
        None if there is nothing to fit.
    """
    rows = labels >= 0
    classes = probabilities.shape[1]
    if classes < 2 or not rows.any():
        return None
    logs = probabilities[rows].double().clamp_min(1e-12).log()
    agrees = logs.argmax(dim=1) == labels[rows]
    cells = 1 / (1 + np.exp(-np.linspace(-_LAST_ODDS, _LAST_ODDS, _CELLS)))
    chances = expected_agreement(cells, np.array(RATES)[:, None], classes)
    counts = np.stack([_count(logs, agrees, temperature) for temperature in TEMPERATURES])
    return Agreement(counts[:, 0] @ np.log(chances).T + counts[:, 1] @ np.log1p(-chances).T)


def _count(logs: Tensor, agrees: Tensor, temperature: float) -> Floats:
    """Return how many labels agree, and how many do not, by cells of the confidence's log odds, ``(2, cells)``."""
    counts = np.zeros((2, _CELLS))
    for part, agree in zip(logs.split(_ROWS), agrees.split(_ROWS), strict=True):
        odds = torch.logit(F.softmax(part / temperature, dim=1).amax(dim=1), eps=math.exp(-2 * _LAST_ODDS))
        places = ((odds.clamp(-_LAST_ODDS, _LAST_ODDS) / _LAST_ODDS + 1) / 2 * (_CELLS - 1)).round().long()
        for at, chosen in enumerate((agree, ~agree)):
            counts[at] += torch.bincount(places[chosen], minlength=_CELLS).numpy()
    return counts
