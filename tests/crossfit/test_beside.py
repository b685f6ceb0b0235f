"""Given probabilities beside features: who judges, how both are pooled, and what stays as it was."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import Tensor

from lond.crossfit.beside import label_loss, odds_of, pool, probability_features, shifted, with_probabilities
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.crossfit.judgement import Judgement, judge_labels

CLASSES, COUNT, WRONG = 4, 400, 60


def noisy() -> tuple[Tensor, Tensor]:
    """Return true and given labels; the first ``WRONG`` are wrong."""
    true = torch.arange(COUNT) % CLASSES
    return true, torch.where(torch.arange(COUNT) < WRONG, (true + 1) % CLASSES, true)


def features(spread: float, seed: int) -> Tensor:
    """Return features around the centres of the true classes, the less telling the larger the spread."""
    generator = torch.Generator().manual_seed(seed)
    return 4 * torch.eye(CLASSES, 8)[noisy()[0]] + spread * torch.randn(COUNT, 8, generator=generator)


def opinions(spread: float, seed: int) -> Tensor:
    """Return probabilities of the true classes, from features of the same kind."""
    return torch.softmax(features(spread, seed)[:, :CLASSES], dim=1)


def auroc(judgement: Judgement) -> float:
    return float(roc_auc_score((torch.arange(COUNT) < WRONG).numpy(), judgement.chances[:, 1].numpy()))


def test_the_better_one_judges() -> None:
    _, given = noisy()
    good, blind = judge_labels(features(1.0, 0), given, CLASSES), judge_labels(features(40.0, 1), given, CLASSES)
    saved = with_probabilities(blind, opinions(1.0, 2))
    assert saved.judged and saved.loss < saved.features_loss
    assert auroc(blind) < 0.8 < 0.97 < auroc(saved.judgement)
    kept = with_probabilities(good, opinions(40.0, 3))
    assert not kept.judged and kept.share < 0.2
    assert auroc(kept.judgement) > auroc(good) - 0.005


def test_features_neighbours_and_folds_stay() -> None:
    _, given = noisy()
    before = judge_labels(features(40.0, 1), given, CLASSES)
    after = with_probabilities(before, opinions(1.0, 2)).judgement
    assert after.features is before.features and after.folds is before.folds and after.labels is before.labels
    assert torch.allclose(after.chances.sum(dim=1), torch.ones(COUNT))
    assert 0 <= float(after.confidence.min()) <= float(after.confidence.max()) <= 1


def test_uniform_probabilities_change_nothing_but_the_scale() -> None:
    _, given = noisy()
    before = judge_labels(features(1.0, 0), given, CLASSES)
    found = with_probabilities(before, torch.full((COUNT, CLASSES), 1 / CLASSES))
    assert not found.judged
    assert torch.equal(found.judgement.evidence.suggested, before.evidence.suggested)
    assert (found.judgement.chances - before.chances).abs().max() < 0.1


@pytest.mark.parametrize("spread", [1.0, 40.0])
def test_decisions_stay_certain(spread: float) -> None:
    true, given = noisy()
    decided = torch.full((COUNT,), UNDECIDED)
    decided[:10], decided[100:110], decided[200:206] = true[:10], given[100:110], NO_CLASS
    before = judge_labels(features(spread, 0), given, CLASSES, decided=decided)
    after = with_probabilities(before, opinions(1.0, 2)).judgement
    assert (after.chances[:10, 1] == 1).all() and (after.chances[100:110, 0] == 1).all()
    assert (after.chances[200:206, 2] == 1).all()
    assert torch.equal(after.evidence.suggested[:10], true[:10]) and (after.confidence[:10] == 1).all()


def test_decisions_do_not_pass_for_noise_of_the_probabilities() -> None:
    """Where probabilities judge, the amount of noise stays what it was without decisions, too."""
    true, given = noisy()
    decided = torch.where(torch.arange(COUNT) < 40, true, UNDECIDED)
    blind, told = (judge_labels(features(40.0, 0), given, CLASSES, decided=known) for known in (None, decided))
    without, found = with_probabilities(blind, opinions(1.0, 2)), with_probabilities(told, opinions(1.0, 2))
    assert without.judged and found.judged
    assert found.judgement.evidence.whole == without.judgement.evidence.whole


def test_missing_labels_and_zero_probabilities_are_allowed() -> None:
    true, given = noisy()
    given[300:320] = -1
    certain = F.one_hot(true, CLASSES).float()
    found = with_probabilities(judge_labels(features(40.0, 0), given, CLASSES), certain).judgement
    assert found.chances.isfinite().all() and found.confidence.isfinite().all()
    assert torch.equal(found.evidence.best[300:320], true[300:320])
    assert not found.wrong[300:320].any()


def test_probability_features_by_hand() -> None:
    logs = torch.tensor([[0.0, -2.0], [-2.0, 0.0], [0.0, 0.0]])
    centred = np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
    expected = centred / centred.std(axis=0, ddof=1) / math.sqrt(2)
    assert probability_features(logs).numpy() == pytest.approx(expected)
    assert not probability_features(torch.zeros(3, 2)).any()


def test_the_pool_is_the_best_of_a_grid() -> None:
    _, given = noisy()
    first, second = (opinions(spread, seed).log() for spread, seed in ((2.0, 5), (6.0, 6)))
    share, pooled = pool(first, second, given)
    grid = [
        label_loss(torch.log_softmax(scale * (part * first + (1 - part) * second), dim=1), given)
        for part in np.linspace(0, 1, 11)
        for scale in np.logspace(-0.7, 0.7, 29)
    ]
    assert label_loss(pooled, given) == pytest.approx(min(grid), abs=1e-6)
    assert share > 0.5


def test_odds_and_shift_by_hand() -> None:
    logs = torch.tensor([[0.2, 0.8]]).log()
    assert float(odds_of(logs, torch.tensor([0]))) == pytest.approx(math.log(0.25))
    assert odds_of(torch.tensor([[0.0, -99.0]]), torch.tensor([1])).isfinite().all()
    moved = shifted(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([math.log(2.0)]))
    assert moved[0].tolist() == pytest.approx([2 / 3, 1 / 6, 1 / 6])
