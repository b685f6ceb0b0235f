"""The user's own probabilities in addition to features: the better one judges, and both are pooled.

The probabilities must come from models that did not see the image they judge, like the opinions of ``evidence``. How
well either explains the given labels is a proper score that needs no truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.crossfit.chances import CLEAN, WRONG, chances, confidence
from lond.crossfit.decided import UNDECIDED
from lond.crossfit.evidence import LabelEvidence, best_other, gather
from lond.crossfit.judgement import Judgement
from lond.crossfit.opinions import SCALE_IMAGES, fit_scale
from lond.crossfit.recalibration import recalibrated

LEAST_PROBABILITY = 1e-6
"""Probabilities below count as this: an overconfident model must not decide alone."""

CLEARLY_BETTER = 0.05
"""By how many nats an image the probabilities must explain the labels better than the features to judge in their
place; the table of chances was fitted on features."""

SHARES = torch.linspace(0, 1, 11)
"""Shares of the given probabilities in the pool of both opinions to choose from."""

SUREST = -1e-4
"""Log-probability beyond which a label is as sure as can be."""

LEAST_LOG = -8.0


@dataclass(frozen=True)
class Beside:
    """What became of given probabilities.

    ``judged`` tells whether they judge in place of the features. ``share`` is their weight in the pool of opinions,
    0 to 1. ``loss`` and ``features_loss`` are the mean negative log-probabilities of the labels, in nats.
    """

    judgement: Judgement
    judged: bool
    share: float
    loss: float
    features_loss: float


def with_probabilities(judgement: Judgement, probabilities: Tensor) -> Beside:
    """Return a judgement that heeds probabilities ``(N, C)`` of models that did not see the image.

    Features, neighbours and folds of the judgement stay what they were.

    Examples:
        >>> from lond.crossfit.judgement import judge_labels
        >>> generator = torch.Generator().manual_seed(0)
        >>> true = torch.arange(120) % 3
        >>> given = torch.where(torch.arange(120) < 5, (true + 1) % 3, true)
        >>> blind = judge_labels(torch.randn(120, 8, generator=generator), given, 3)
        >>> found = with_probabilities(blind, 0.8 * F.one_hot(true, 3) + 0.2 / 3)
        >>> found.judged, found.judgement.wrong.nonzero().squeeze(1).tolist()
        (True, [0, 1, 2, 3, 4])

    Args:
        judgement: of the features.
        probabilities: rows that sum to one, classes in the order of the labels.
    """
    labels, table, decided, folds = judgement.labels, judgement.table, judgement.decided, judgement.folds
    given = probabilities.clamp_min(LEAST_PROBABILITY).log()
    features = probability_features(given)
    own = gather(features, labels, given.shape[1], folds, decided=decided)
    losses = [label_loss(found.log_chances, labels) for found in (own, judgement.evidence)]
    judged = losses[0] < losses[1] - CLEARLY_BETTER
    found = own if judged else judgement.evidence
    likely, sure = judgement.chances, judgement.confidence
    if judged and decided is not None:
        before = gather(features, labels, given.shape[1], folds, near=own.near)
        found, likely, sure = recalibrated(features, found, labels, decided, folds, table, judgement.confirmed, before)
    elif judged:
        likely = chances(found, table)
    share, pooled = pool(given, found.log_chances, labels)
    moved = shifted(likely, odds_of(pooled, found.label) - odds_of(found.log_chances, found.label))
    suggested = suggestion(found, pooled)
    if decided is None:
        likely, sure = moved, confidence(suggested, moved[:, WRONG], table)
    else:
        undecided = decided == UNDECIDED
        likely = torch.where(undecided[:, None], moved, likely)
        sure = torch.where(undecided, confidence(suggested, moved[:, WRONG], table), sure)
        suggested = replace(suggested, suggested=torch.where(undecided, suggested.suggested, found.suggested))
    new = replace(judgement, evidence=suggested, chances=likely, confidence=sure)
    return Beside(new, judged, share, losses[0], losses[1])


def probability_features(logs: Tensor) -> Tensor:
    """Return log-probabilities ``(N, C)`` as features: centred by row, each class at mean 0 and deviation 1 / sqrt(C).

    Rows then have a length of about one, as features from ``Preparation`` have.
    """
    centred = logs - logs.mean(dim=1, keepdim=True)
    spread = centred.std(dim=0).clamp_min(1e-6)
    return (centred - centred.mean(dim=0)) / (spread * math.sqrt(logs.shape[1]))


def label_loss(log_chances: Tensor, labels: Tensor) -> float:
    """Return the mean negative log-probability of the labels ``(N,)`` by ``(N, C)``, without the missing ones."""
    known = labels >= 0
    return float(F.cross_entropy(log_chances[known].double(), labels[known]))


def pool(given: Tensor, judged: Tensor, labels: Tensor) -> tuple[float, Tensor]:
    """Return the share of ``given`` in the logarithmic pool of two opinions, and the pool; both ``(N, C)`` logs.

    Share and scale are those with the least loss on labels ``(N,)``.
    """
    known = (labels >= 0).nonzero().squeeze(1)
    rows = known[:: -(-len(known) // SCALE_IMAGES)]

    def mixed(share: float, at: Tensor) -> Tensor:
        return share * given[at] + (1 - share) * judged[at]

    found = []
    for share in SHARES.tolist():
        logits = mixed(share, rows)
        scale = fit_scale(logits, labels[rows])
        found.append((label_loss(torch.log_softmax(scale * logits, dim=1), labels[rows]), share, scale))
    _, share, scale = min(found)
    return share, torch.log_softmax(scale * mixed(share, torch.arange(len(labels))), dim=1)


def odds_of(log_chances: Tensor, label: Tensor) -> Tensor:
    """Return the log-odds ``(N,)`` of one class an image by log-probabilities ``(N, C)``, bounded on both sides."""
    own = log_chances.gather(1, label[:, None]).squeeze(1).clamp(LEAST_LOG, SUREST)
    return own - torch.log1p(-own.exp())


def shifted(likely: Tensor, odds: Tensor) -> Tensor:
    """Return chances ``(N, 3)`` in which the log-odds of a clean label are raised by ``(N,)``."""
    logs = likely.clamp_min(1e-9).log()
    return torch.softmax(torch.cat([logs[:, :1] + odds[:, None], logs[:, CLEAN + 1 :]], dim=1), dim=1)


def suggestion(found: LabelEvidence, pooled: Tensor) -> LabelEvidence:
    """Return the evidence with the suggested and the likeliest class of log-probabilities ``(N, C)``."""
    suggested = best_other(pooled, found.label)
    own, other = (pooled.gather(1, at[:, None]).squeeze(1).exp() for at in (found.label, suggested))
    best = pooled.exp().max(dim=1)
    share = other / (1 - own).clamp_min(1e-6)
    return replace(found, suggested=suggested, best=best.indices, best_chance=best.values, share=share)
