"""Chances recalibrated by what a person decided, by small logistic fits on the decided images.

Each fit begins at the chances as they are and is drawn back to them, so that a few decisions change little. The chances
of undecided images count beside the decisions: a few false alarms do not clear all that is called foreign.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.crossfit.chances import CLEAN, OUTSIDE, WRONG, ChanceTable, bounded_logit, chances, confidence
from lond.crossfit.decided import NO_CLASS, UNDECIDED, taught_labels, taught_weights, teaching
from lond.crossfit.evidence import LabelEvidence
from lond.crossfit.heads import fit_softmax

OFFSET_CAUTION, SLOPE_CAUTION = 2.0, 4.0
"""Weights of half the squared change of an offset and of a slope, beside the sum of the losses."""

WEIGHT_BEFORE = 50.0
"""Decisions for which the chances of all undecided images count: clean, wrong and foreign ones for a third each."""

ROWS_BEFORE = 20_000
"""Undecided images whose chances are looked at."""

FEWEST_FOREIGN = 3
"""Decided foreign images from which on a head learns to know more of them."""

STEPS = 30
"""Newton's steps of a fit, each as long as it lowers the loss."""

SMALLEST_SHARE = 1e-6
"""Share of a step below which there is nothing left to gain."""


def truth_of(labels: Tensor, decided: Tensor) -> Tensor:
    """Return what is true of given labels ``(N,)``: ``CLEAN``, ``WRONG`` or ``OUTSIDE``; for decided images only."""
    known = torch.where((decided == labels) | (labels < 0), CLEAN, WRONG)
    return torch.where(decided == NO_CLASS, OUTSIDE, known)


def fit_near(inputs: Tensor, truth: Tensor, start: Tensor, caution: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return coefficients ``(D, K)`` of a multinomial logistic fit that is drawn towards where it starts.

    Args:
        inputs: ``(M, D)``.
        truth: ``(M, K + 1)`` probabilities; the logit of the first one is fixed at 0.
        start: ``(D, K)``.
        caution: ``(D,)`` weight of half the squared change of each input's coefficients.
        weights: ``(M,)`` of the rows; 1 each if None.
    """
    inputs, truth, start, caution = inputs.double(), truth.double(), start.double(), caution.double()
    weights = torch.ones(len(inputs)).double() if weights is None else weights.double()
    width, kinds = start.shape

    def loss(at: Tensor) -> float:
        missed = F.cross_entropy(F.pad(inputs @ at, (1, 0)), truth, reduction="none")
        return float((weights * missed).sum() + (caution[:, None] * (at - start).square()).sum() / 2)

    found = start.clone()
    for _ in range(STEPS):
        said = torch.softmax(F.pad(inputs @ found, (1, 0)), dim=1)[:, 1:]
        slope = inputs.T @ (weights[:, None] * (truth[:, 1:] - said)) - caution[:, None] * (found - start)
        spread = weights[:, None, None] * (torch.diag_embed(said) - said[:, :, None] * said[:, None, :])
        curve = torch.einsum("mi,mkl,mj->kilj", inputs, spread, inputs).reshape(kinds * width, kinds * width)
        curve = curve + torch.diag(caution.repeat(kinds))
        change = torch.linalg.solve(curve, slope.T.reshape(-1)).reshape(kinds, width).T
        share = _share_that_helps(loss, found, change, float((slope * change).sum()))
        if not share:
            break
        found = found + share * change
    return found.float()


def _share_that_helps(loss: Callable[[Tensor], float], at: Tensor, change: Tensor, gain: float) -> float:
    """Return the largest of 1, 1/2, 1/4, ... of a change that lowers the loss as it promises, or 0 (Armijo's rule).

    Whole steps go in circles where chances close to 0 or 1 turn out wrong.
    """
    before, share = loss(at), 1.0
    while loss(at + share * change) > before - 1e-4 * share * gain:
        share /= 2
        if share < SMALLEST_SHARE:
            return 0.0
    return share


def foreign_odds(features: Tensor, found: LabelEvidence, labels: Tensor, decided: Tensor, folds: Tensor) -> Tensor:
    """Return out-of-fold log-odds ``(N,)`` of a head that knows the decided foreign images as one more class.

    They are moved and scaled to mean 0 and deviation 1: most foreign images still pass for known ones there.
    """
    classes, taught = found.log_chances.shape[1], taught_labels(labels, decided)
    targets = F.one_hot(torch.where(decided == NO_CLASS, classes, taught.clamp_min(0)), classes + 1).float()
    weights = taught_weights(found.log_chances, taught, decided)
    logits = fit_softmax(features, targets * weights[:, None], folds).unseen(features, folds)
    odds = logits[:, -1] - logits[:, :-1].logsumexp(dim=1)
    return (odds - odds.mean()) / odds.std().clamp_min(1e-6)


def recalibrated(
    features: Tensor,
    found: LabelEvidence,
    labels: Tensor,
    decided: Tensor,
    folds: Tensor,
    table: ChanceTable,
    confirmed: Tensor | None = None,
    before: LabelEvidence | None = None,
) -> tuple[LabelEvidence, Tensor, Tensor]:
    """Return evidence, chances ``(N, 3)`` and confidence of suggestions ``(N,)`` with what the decisions taught.

    Where a person decided, they are certain, and the suggestion is the decided class.

    Args:
        features: ``(N, D)`` as ``Preparation`` returns them.
        found: the evidence on the given labels, gathered with the decisions.
        labels: ``(N,)`` given labels; negative = none.
        decided: ``(N,)``, see ``lond.crossfit.decided``.
        folds: ``(N,)`` in which part an image is judged.
        table: the network that turns evidence into chances.
        confirmed: ``(N,)`` decided images that are left out of the fits: their labels were corrected before, so all of
            them are right, whatever share of the others is.
        before: the evidence without the decisions, which says how much noise there is: models that learned the
            decisions contradict more of the given labels. Of the chances with and without the decisions, the geometric
            mean counts: images called foreign leave the neighbourhood of others like them, which would look less
            foreign for that reason alone.
    """
    known = decided != UNDECIDED
    if before is None:
        likely = chances(found, table)
    else:
        found = replace(found, whole=before.whole)
        likely = F.normalize((chances(found, table) * chances(before, table)).sqrt(), p=1, dim=1)
    sure = confidence(found, likely[:, WRONG], table)
    logs = likely.clamp_min(1e-6).log()
    columns = [torch.ones(len(labels)), logs[:, WRONG] - logs[:, CLEAN], logs[:, OUTSIDE] - logs[:, CLEAN]]
    start, caution = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [OFFSET_CAUTION, SLOPE_CAUTION, SLOPE_CAUTION]
    if int((decided == NO_CLASS).sum()) >= FEWEST_FOREIGN:
        columns.append(foreign_odds(features, found, labels, decided, folds))
        start.append([0.0, 0.0])
        caution.append(OFFSET_CAUTION)
    inputs = torch.stack(columns, dim=1)
    asked = teaching(labels, decided, confirmed)
    said = F.one_hot(truth_of(labels, decided), 3).to(likely)
    others = _evenly((~known & (labels >= 0)).nonzero().squeeze(1), ROWS_BEFORE)
    rows = torch.cat([asked.nonzero().squeeze(1), others])
    counts = torch.cat([torch.ones(len(rows) - len(others)), weights_before(likely[others])])
    truth = torch.cat([said[asked], likely[others]])
    fit = fit_near(inputs[rows], truth, torch.tensor(start), torch.tensor(caution), counts)
    likely = torch.where(known[:, None], said, torch.softmax(F.pad(inputs @ fit, (1, 0)), dim=1))
    told = (decided >= 0) & (decided != found.label)
    sure = torch.where(told, 1.0, recalibrated_confidence(sure, found.suggested == decided, asked))
    return replace(found, suggested=torch.where(told, decided, found.suggested)), likely, sure


def weights_before(likely: Tensor) -> Tensor:
    """Return for how many decisions the chances ``(M, 3)`` of each undecided image count, ``(M,)``.

    Each kind counts for a third of ``WEIGHT_BEFORE``, shared in proportion to its chances, however rare it is.

    Examples:
        >>> weights_before(torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])).round().tolist()
        [8.0, 8.0, 17.0]
    """
    return (likely / likely.sum(dim=0).clamp_min(1e-6)).sum(dim=1) * WEIGHT_BEFORE / likely.shape[1]


def _evenly(rows: Tensor, most: int) -> Tensor:
    """Return at most so many of some rows, evenly spread over them."""
    return rows if len(rows) <= most else rows[torch.linspace(0, len(rows) - 1, most).long()]


def recalibrated_confidence(sure: Tensor, right: Tensor, asked: Tensor) -> Tensor:
    """Return confidences ``(N,)`` fitted to whether suggestions were ``right`` ``(N,)`` where that was ``asked``."""
    inputs = torch.stack([torch.ones(len(sure)), bounded_logit(sure)], dim=1)
    caution = torch.tensor([OFFSET_CAUTION, SLOPE_CAUTION])
    truth = F.one_hot(right[asked].long(), 2)
    fit = fit_near(inputs[asked], truth, torch.tensor([[0.0], [1.0]]), caution)
    return torch.sigmoid(inputs @ fit).squeeze(1)
