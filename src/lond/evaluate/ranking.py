"""How well a score ranks foreign images above known ones.

Every function takes tensors, NumPy arrays or lists: ``scores`` ``(N,)``, **larger = more foreign**, and ``foreign``
``(N,)`` bool. All return NaN when there is no known or no foreign sample, and raise ValueError on a score that is not
finite. Results agree with scikit-learn; samples with equal scores are always taken together.

Two readings of FPR95 are in use and give different numbers:

============== ======== =====================================================
function       positive value
============== ======== =====================================================
fpr95          known    share of foreign accepted when >= 95 % of known is accepted (the paper, ODIN, Energy, ReAct)
fpr95_openood  foreign  share of known flagged when >= 95 % of foreign is flagged (OpenOOD 1.5)
============== ======== =====================================================
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lond.evaluate.arrays import Values, as_tensor

_TARGET_RECALL = 0.95


def auroc(scores: Values, foreign: Values) -> float:
    """Return P(s_foreign > s_known) + 1/2 P(s_foreign = s_known), the area under the ROC curve.

    Computed from midranks in float64, so ties get half credit. The same whichever side is called positive.

    Args:
        scores: ``(N,)``, larger = more foreign.
        foreign: ``(N,)`` bool, True for images of no known class.

    Raises:
        ValueError: On a score that is not finite or on shapes that do not match.

    Examples:
        >>> auroc([0.1, 0.8, 0.2, 0.9], [False, False, True, True])
        0.75
    """
    scores, foreign = _checked(scores, foreign)
    num_foreign = int(foreign.sum())
    num_known = len(foreign) - num_foreign
    if not num_foreign or not num_known:
        return math.nan
    _, group, sizes = torch.unique(scores, return_inverse=True, return_counts=True)
    midranks = sizes.cumsum(0).double() - (sizes.double() - 1) / 2
    rank_sum = float(midranks[group][foreign].sum())
    return (rank_sum - num_foreign * (num_foreign + 1) / 2) / (num_foreign * num_known)


def fpr95(scores: Values, foreign: Values) -> float:
    """Return the share of foreign images accepted as known when at least 95 % of the known ones are accepted.

    Known is the positive class. The threshold is the smallest score at which TPR >= 0.95; all samples tied with it
    are accepted. (The authors' program takes the ROC point nearest to 0.95, which may lie below.)

    Args:
        scores: ``(N,)``, larger = more foreign.
        foreign: ``(N,)`` bool, True for images of no known class.

    Raises:
        ValueError: On a score that is not finite or on shapes that do not match.

    Examples:
        >>> fpr95([0.1, 0.2, 0.15, 0.9], [False, False, True, True])
        0.5
    """
    scores, foreign = _checked(scores, foreign)
    return _false_positive_rate(-scores, ~foreign)


def fpr95_openood(scores: Values, foreign: Values) -> float:
    """Return the share of known images flagged when at least 95 % of the foreign ones are flagged.

    Foreign is the positive class, as in OpenOOD 1.5: the first ROC point with TPR >= 0.95; all samples tied with
    its threshold are flagged.

    Args:
        scores: ``(N,)``, larger = more foreign.
        foreign: ``(N,)`` bool, True for images of no known class.

    Raises:
        ValueError: On a score that is not finite or on shapes that do not match.

    Examples:
        >>> fpr95_openood([0.1, 0.2, 0.15, 0.9], [False, False, True, True])
        0.5
    """
    scores, foreign = _checked(scores, foreign)
    return _false_positive_rate(scores, foreign)


def aupr_known(scores: Values, foreign: Values) -> float:
    """Return the area under the precision-recall curve with known as the positive class ("AUPR-in").

    Trapezoid over recall of the points of scikit-learn's ``precision_recall_curve``, among them (recall 0,
    precision 1). Depends on the share of known images.

    Args:
        scores: ``(N,)``, larger = more foreign.
        foreign: ``(N,)`` bool, True for images of no known class.

    Raises:
        ValueError: On a score that is not finite or on shapes that do not match.

    Examples:
        >>> aupr_known([0.1, 0.2, 0.8, 0.9], [False, False, True, True])
        1.0
    """
    scores, foreign = _checked(scores, foreign)
    return _area_under_precision_recall(-scores, ~foreign)


def aupr_foreign(scores: Values, foreign: Values) -> float:
    """Return the area under the precision-recall curve with foreign as the positive class ("AUPR-out").

    Trapezoid over recall of the points of scikit-learn's ``precision_recall_curve``, among them (recall 0,
    precision 1). Depends on the share of foreign images.

    Args:
        scores: ``(N,)``, larger = more foreign.
        foreign: ``(N,)`` bool, True for images of no known class.

    Raises:
        ValueError: On a score that is not finite or on shapes that do not match.

    Examples:
        >>> aupr_foreign([0.1, 0.2, 0.8, 0.9], [False, False, True, True])
        1.0
    """
    scores, foreign = _checked(scores, foreign)
    return _area_under_precision_recall(scores, foreign)


def roc_points(scores: Values, foreign: Values) -> tuple[Tensor, Tensor]:
    """Return the ROC curve with foreign as the positive class: one point per distinct score, after (0, 0).

    Args:
        scores: ``(N,)``, larger = more foreign.
        foreign: ``(N,)`` bool.

    Returns:
        False-positive and true-positive rates, each ``(T + 1,)`` float64.

    Raises:
        ValueError: If shapes or dtypes are wrong, a score is not finite, or one of the groups is empty.

    Examples:
        >>> [rates.tolist() for rates in roc_points([0.1, 0.9], [False, True])]
        [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    scores, foreign = _checked(scores, foreign)
    if not foreign.any() or foreign.all():
        raise ValueError("a ROC curve needs both known and foreign samples")
    positives, negatives = _cumulative_counts(scores, foreign)
    start = torch.zeros(1, dtype=torch.float64)
    false_alarms, hits = (counts.double() / counts[-1].double() for counts in (negatives, positives))
    return torch.cat([start, false_alarms]), torch.cat([start, hits])


def _checked(scores: Values, foreign: Values) -> tuple[Tensor, Tensor]:
    """Return both on the CPU, scores in float64; refuse what would give a silent wrong number."""
    scores, foreign = as_tensor(scores, "scores"), as_tensor(foreign, "foreign")
    if scores.shape != foreign.shape or scores.dim() != 1:
        raise ValueError(
            f"scores and foreign must be (N,) and equally long: {tuple(scores.shape)}, {tuple(foreign.shape)}"
        )
    if foreign.dtype != torch.bool:
        raise ValueError(f"foreign must be a bool mask, not {foreign.dtype}")
    # The CPU, because some accelerators have no float64.
    scores = scores.detach().cpu().double()
    bad = int((~scores.isfinite()).sum())
    if bad:
        raise ValueError(f"{bad} of {len(scores)} scores are not finite")
    return scores, foreign.cpu()


def _cumulative_counts(scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``(T,)`` int64 counts of positives and negatives at or above each distinct score, largest first."""
    _, group, sizes = torch.unique(scores, return_inverse=True, return_counts=True)
    positives = torch.zeros_like(sizes).index_add_(0, group, positive.long())
    return positives.flip(0).cumsum(0), (sizes - positives).flip(0).cumsum(0)


def _false_positive_rate(scores: Tensor, positive: Tensor) -> float:
    """Return the FPR at the first ROC point with TPR >= 0.95; larger scores mean more positive."""
    if bool(positive.all()) or not bool(positive.any()):
        return math.nan
    hits, false_alarms = _cumulative_counts(scores, positive)
    first = int((hits.double() / hits[-1].double() >= _TARGET_RECALL).nonzero()[0])
    return int(false_alarms[first]) / int(false_alarms[-1])


def _area_under_precision_recall(scores: Tensor, positive: Tensor) -> float:
    """Return the trapezoid area of precision over recall; larger scores mean more positive."""
    if bool(positive.all()) or not bool(positive.any()):
        return math.nan
    hits, false_alarms = _cumulative_counts(scores, positive)
    start = torch.tensor([0.0, 1.0], dtype=torch.float64)
    recall = torch.cat([start[:1], hits.double() / hits[-1].double()])
    precision = torch.cat([start[1:], hits.double() / (hits + false_alarms).double()])
    return float(torch.trapezoid(precision, recall))
