"""Ranking measures against pair-by-pair loops and scikit-learn, with and without ties."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn import metrics
from torch import Tensor

from lond.evaluate import aupr_foreign, aupr_known, auroc, fpr95, fpr95_openood, roc_points

ALL = [auroc, fpr95, fpr95_openood, aupr_known, aupr_foreign]
Measure = Callable[[Tensor, Tensor], float]


def _case(levels: int | None, known: int, foreign: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.zeros(known + foreign, dtype=torch.bool)
    mask[torch.randperm(known + foreign, generator=generator)[:foreign]] = True
    scores = torch.randn(known + foreign, generator=generator, dtype=torch.float64) + 0.8 * mask
    if levels is not None:
        scores = (scores * levels / 4).round()
    return scores, mask


CASES = [
    pytest.param(levels, known, foreign, seed, id=f"levels={levels}-{known}+{foreign}-{seed}")
    for levels in (None, 1, 3, 30)
    for known, foreign in ((1, 1), (20, 40), (19, 1), (97, 13), (400, 100))
    for seed in range(2)
]


def _slow_auroc(scores: list[float], foreign: list[bool]) -> float:
    far = [s for s, f in zip(scores, foreign, strict=True) if f]
    near = [s for s, f in zip(scores, foreign, strict=True) if not f]
    return sum((a > b) + 0.5 * (a == b) for a in far for b in near) / (len(far) * len(near))


def _slow_fpr(scores: list[float], positive: list[bool]) -> float:
    """Lower the threshold through all values until 95 % of the positives are at or above it."""
    good = [s for s, p in zip(scores, positive, strict=True) if p]
    bad = [s for s, p in zip(scores, positive, strict=True) if not p]
    for threshold in sorted(set(scores), reverse=True):
        if 20 * sum(s >= threshold for s in good) >= 19 * len(good):
            return sum(s >= threshold for s in bad) / len(bad)
    raise AssertionError


@pytest.mark.parametrize(("levels", "known", "foreign", "seed"), CASES)
def test_against_slow_references(levels: int | None, known: int, foreign: int, seed: int) -> None:
    scores, mask = _case(levels, known, foreign, seed)
    values, far = scores.tolist(), mask.tolist()
    assert auroc(scores, mask) == pytest.approx(_slow_auroc(values, far), abs=1e-12)
    assert fpr95(scores, mask) == pytest.approx(_slow_fpr([-s for s in values], [not f for f in far]), abs=1e-12)
    assert fpr95_openood(scores, mask) == pytest.approx(_slow_fpr(values, far), abs=1e-12)


@pytest.mark.parametrize(("levels", "known", "foreign", "seed"), CASES)
def test_against_sklearn(levels: int | None, known: int, foreign: int, seed: int) -> None:
    scores, mask = _case(levels, known, foreign, seed)
    s, far = scores.numpy(), mask.numpy()
    assert auroc(scores, mask) == pytest.approx(metrics.roc_auc_score(far, s), abs=1e-12)
    for measure, positive, sign in ((fpr95, ~far, -1), (fpr95_openood, far, 1)):
        fpr, tpr, _ = metrics.roc_curve(positive, sign * s, drop_intermediate=False)
        assert measure(scores, mask) == pytest.approx(fpr[np.argmax(tpr >= 0.95)], abs=1e-12)
    for measure, positive, sign in ((aupr_known, ~far, -1), (aupr_foreign, far, 1)):
        precision, recall, _ = metrics.precision_recall_curve(positive, sign * s)
        assert measure(scores, mask) == pytest.approx(metrics.auc(recall, precision), abs=1e-12)


def test_larger_means_more_foreign() -> None:
    scores, mask = torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([False, False, True, True])
    assert [m(scores, mask) for m in ALL] == [1.0, 0.0, 0.0, 1.0, 1.0]
    assert auroc(-scores, mask) == 0.0


def test_the_two_fpr95_are_different_numbers() -> None:
    # Known 0..9; one foreign image far below all known ones, nine far above.
    scores = torch.tensor([*range(10), -5, *range(20, 29)]).float()
    mask = torch.arange(20) >= 10
    assert fpr95(scores, mask) == pytest.approx(0.1)
    assert fpr95_openood(scores, mask) == 1.0


def test_all_scores_equal() -> None:
    scores, mask = torch.zeros(10), torch.arange(10) < 3
    assert auroc(scores, mask) == 0.5
    assert fpr95(scores, mask) == fpr95_openood(scores, mask) == 1.0


def test_float32_ties_survive_and_large_counts_stay_exact() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(60_000, generator=generator).mul(50).floor().div(50)
    mask = torch.rand(60_000, generator=generator) < 0.2
    assert auroc(scores, mask) == pytest.approx(metrics.roc_auc_score(mask.numpy(), scores.numpy()), abs=1e-12)


@pytest.mark.parametrize("measure", ALL)
def test_one_empty_group_gives_nan(measure: Measure) -> None:
    assert math.isnan(measure(torch.rand(4), torch.zeros(4, dtype=torch.bool)))
    assert math.isnan(measure(torch.rand(4), torch.ones(4, dtype=torch.bool)))
    assert math.isnan(measure(torch.rand(0), torch.ones(0, dtype=torch.bool)))


@pytest.mark.parametrize("measure", ALL)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_score_is_refused(measure: Measure, bad: float) -> None:
    with pytest.raises(ValueError, match="1 of 3 scores are not finite"):
        measure(torch.tensor([0.0, bad, 1.0]), torch.tensor([True, False, False]))


@pytest.mark.parametrize("measure", ALL)
def test_shapes_and_types_are_checked(measure: Measure) -> None:
    with pytest.raises(ValueError, match="equally long"):
        measure(torch.rand(3), torch.zeros(4, dtype=torch.bool))
    with pytest.raises(ValueError, match="bool"):
        measure(torch.rand(3), torch.tensor([0, 1, 0]))


# The curve itself


@pytest.mark.parametrize(("levels", "known", "foreign", "seed"), CASES)
def test_roc_points_are_those_of_sklearn(levels: int | None, known: int, foreign: int, seed: int) -> None:
    scores, mask = _case(levels, known, foreign, seed)
    false_alarms, hits = roc_points(scores, mask)
    fpr, tpr, _ = metrics.roc_curve(mask.numpy(), scores.numpy(), drop_intermediate=False)
    assert false_alarms.dtype == hits.dtype == torch.float64
    assert len(false_alarms) == len(hits) == len(scores.unique()) + 1
    assert np.abs(false_alarms.numpy() - fpr).max() <= 1e-12
    assert np.abs(hits.numpy() - tpr).max() <= 1e-12
    assert float(torch.trapezoid(hits, false_alarms)) == pytest.approx(auroc(scores, mask), abs=1e-12)


def test_roc_points_by_hand() -> None:
    scores, mask = torch.tensor([3.0, 2.0, 2.0, 1.0]), torch.tensor([True, True, False, False])
    false_alarms, hits = roc_points(scores, mask)
    assert false_alarms.tolist() == [0, 0, 0.5, 1]
    assert hits.tolist() == [0, 0.5, 1, 1]


def test_roc_points_refuse_what_has_no_curve() -> None:
    mask = torch.tensor([True, False, False])
    for one_kind in (torch.zeros(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool)):
        with pytest.raises(ValueError, match="both known and foreign"):
            roc_points(torch.rand(3), one_kind)
    with pytest.raises(ValueError, match="1 of 3 scores are not finite"):
        roc_points(torch.tensor([0.0, math.nan, 1.0]), mask)
    with pytest.raises(ValueError, match="equally long"):
        roc_points(torch.rand(4), mask)
    with pytest.raises(ValueError, match="bool"):
        roc_points(torch.rand(3), mask.long())
