"""Out-of-fold predictions: calibrated confidences and a threshold for foreign images."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from lond.audit.rates.confidence import Agreement, fit_agreement
from lond.audit.rates.estimate import CENTRAL, overall_rates
from lond.audit.rates.label_mixes import label_posteriors
from lond.detect.conformal import p_values
from lond.errors import DataError
from lond.runs.calibration import Calibration, calibrate_scores, tempered
from lond.types import Prediction

OUT_OF_FOLD = "images judged by heads trained without them, which agree with the label, hard ones counted for more"
"""Where the threshold of an audit comes from."""

AUDIT_FALSE_ALARM_RATE = 0.1
"""Share of known images that an audit calls foreign, unless told otherwise: a person looks at them anyway."""

KNOWN_ENOUGH = 0.25
"""p-value among images that agree with their label from which on images are taken for known."""


def known_agreement(probabilities: Tensor, labels: Tensor, scores: Tensor) -> Agreement | None:
    """Return how known images agree with their labels; None if there is nothing to tell it by.

    Images with a foreign score ``(N,)`` among the highest of those that agree with their label are left out.
    """
    agrees = probabilities.argmax(dim=1) == labels
    rows = torch.ones_like(agrees)
    if agrees.any():
        rows = p_values(scores, scores[agrees]) >= KNOWN_ENOUGH
    return fit_agreement(probabilities[rows], labels[rows])


def sharpened(probabilities: Tensor, labels: Tensor, scores: Tensor) -> Tensor:
    """Return class probabilities ``(N, C)`` at the temperature that fits known images, wrong labels allowed for."""
    fit = known_agreement(probabilities, labels, scores)
    return probabilities if fit is None else tempered(probabilities, fit.temperature)


def calibrate_out_of_fold(labels: Tensor, prediction: Prediction, false_alarm_rate: float) -> Calibration | None:
    """Return when an image is called foreign; None if there are too few images for one.

    The threshold lets at most the chosen share of known images through. It is raised where that would call more images
    foreign than there are, by the upper end of the estimate: a set without foreign images needs no false alarms.
    """
    try:
        calibration = calibrate_scores(known_scores(labels, prediction), false_alarm_rate, OUT_OF_FOLD)
    except DataError:
        return None
    scores = prediction.scores
    share = overall_rates(labels, prediction.probabilities, calibration.p_values(scores)).open
    if share is None:
        return calibration
    # The score after the last that may be called foreign: a threshold is exceeded, not reached.
    after = min(int(share.high * len(scores)), len(scores) - 1)
    threshold = max(calibration.threshold, float(scores.sort(descending=True).values[after]))
    actual = float((calibration.known_scores > threshold).double().mean())
    return replace(calibration, threshold=threshold, false_alarm_rate=min(false_alarm_rate, actual))


def known_scores(labels: Tensor, prediction: Prediction) -> Tensor:
    """Return scores that are spread like those of known images, as many as there are images that agree.

    Hard images agree less often than easy ones, namely in the share m, their confidence. Each that does therefore
    stands for 1 / m images: it is drawn so many times as often, at even steps.
    """
    agrees = prediction.probabilities.argmax(dim=1) == labels
    scores, order = prediction.scores[agrees].sort()
    if not len(scores):
        return scores
    shares = (1 / prediction.probabilities[agrees].double().amax(dim=1))[order].cumsum(dim=0)
    steps = (torch.arange(len(scores), dtype=torch.float64) + 0.5) / len(scores) * shares[-1]
    return scores[torch.searchsorted(shares, steps).clamp_max(len(scores) - 1)]


def true_classes(labels: Tensor, prediction: Prediction, calibration: Calibration | None) -> Tensor:
    """Return how likely each image is of each class, given its picture and its label, ``(N, C)`` float64.

    N images cannot show that fewer than about one in N is mistaken, so one of even chances is mixed in (Laplace).
    """
    known, central = torch.ones(2, len(labels), dtype=torch.bool)
    if calibration is not None:
        known = prediction.scores <= calibration.threshold
        central = calibration.p_values(prediction.scores) >= CENTRAL
    found = label_posteriors(prediction.probabilities, labels, known, central)
    return (found * len(labels) + 1 / found.shape[1]) / (len(labels) + 1)
