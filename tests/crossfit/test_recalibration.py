"""Chances fitted to what a person decided."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from crossfit.test_judgement import world
from scipy.optimize import minimize

from lond.crossfit import recalibration
from lond.crossfit.chances import CLEAN, OUTSIDE, WRONG, chances, confidence
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.crossfit.heads import fit_softmax
from lond.crossfit.judgement import judge_labels
from lond.crossfit.recalibration import (
    _share_that_helps,
    fit_near,
    foreign_odds,
    recalibrated_confidence,
    truth_of,
    weights_before,
)


def test_truth_of_given_labels() -> None:
    labels, decided = torch.tensor([0, 1, 2, -2]), torch.tensor([0, 2, NO_CLASS, 1])
    assert truth_of(labels, decided).tolist() == [CLEAN, WRONG, OUTSIDE, CLEAN]


@pytest.mark.parametrize("kinds", [1, 2])
def test_the_fit_is_the_penalised_optimum(kinds: int) -> None:
    random = np.random.default_rng(kinds)
    inputs, truth = random.normal(size=(40, 3)), random.dirichlet(np.ones(kinds + 1), 40)
    truth[:20], weights = np.eye(kinds + 1)[random.integers(0, kinds + 1, 20)], random.uniform(0, 3, 40)
    start, caution = random.normal(size=(3, kinds)), np.array([2.0, 4.0, 1.0])

    def loss(flat: np.ndarray) -> float:
        found = flat.reshape(3, kinds)
        logits = np.concatenate([np.zeros((40, 1)), inputs @ found], axis=1)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        missed = -(truth * logs).sum(axis=1)
        return float((weights * missed).sum() + 0.5 * (caution[:, None] * (found - start) ** 2).sum())

    expected = minimize(loss, start.reshape(-1), tol=1e-10).x.reshape(3, kinds)
    found = fit_near(*map(torch.tensor, (inputs, truth, start, caution, weights)))
    assert np.allclose(found.numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("truth_kind", ["half clean", "all foreign", "swapped"])
@pytest.mark.parametrize("seed", range(5))
def test_the_fit_holds_where_sure_chances_are_wrong(truth_kind: str, seed: int) -> None:
    """Whole Newton steps go in circles here; at the optimum the slope is 0."""
    random = np.random.default_rng(seed)
    chance = torch.tensor(random.dirichlet([0.2, 0.2, 0.2], size=30)).clamp_min(1e-6)
    logs = chance.log()
    inputs = torch.stack([torch.ones(30), logs[:, 1] - logs[:, 0], logs[:, 2] - logs[:, 0]], dim=1)
    likeliest = chance.argmax(dim=1)
    truths = {
        "half clean": torch.where(torch.arange(30) % 2 == 0, likeliest, CLEAN),
        "all foreign": torch.full((30,), OUTSIDE),
        "swapped": (likeliest + 1) % 3,
    }
    start, caution = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).double(), torch.tensor([2.0, 4.0, 4.0]).double()
    truth = torch.nn.functional.one_hot(truths[truth_kind], 3)
    found = fit_near(inputs, truth, start, caution).double().requires_grad_()
    logits = torch.cat([torch.zeros(30, 1), inputs @ found], dim=1)
    loss = torch.nn.functional.cross_entropy(logits, truths[truth_kind], reduction="sum")
    loss = loss + (caution[:, None] * (found - start).square()).sum() / 2
    (slope,) = torch.autograd.grad(loss, found)
    # Coefficients are rounded to single precision, and the curvature is in the hundreds.
    assert float(slope.abs().max()) < 1e-3


def test_a_step_is_halved_until_it_helps_or_not_made() -> None:
    """From 0 a change of 4 overshoots the least loss at 1 unless it is a quarter; away from it nothing helps."""
    at, change = torch.zeros(1), torch.full((1,), 4.0)

    def loss(x: torch.Tensor) -> float:
        return float((x - 1).square())

    assert _share_that_helps(loss, at, change, 8.0) == 0.25
    assert _share_that_helps(loss, at, -change, 8.0) == 0


def test_without_decisions_nothing_moves() -> None:
    start = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    assert torch.equal(fit_near(torch.zeros(0, 2), torch.zeros(0, 3), start, torch.ones(2)), start)
    sure = torch.tensor([0.2, 0.9])
    none = torch.zeros(2, dtype=torch.bool)
    assert torch.allclose(recalibrated_confidence(sure, none, none), sure, atol=1e-5)


def test_suggestions_that_were_wrong_lower_the_others() -> None:
    sure = torch.full((40,), 0.8)
    asked = torch.arange(40) < 20
    assert recalibrated_confidence(sure, torch.zeros(40, dtype=torch.bool), asked)[30] < 0.4
    assert recalibrated_confidence(sure, torch.ones(40, dtype=torch.bool), asked)[30] > 0.8


def test_two_false_alarms_leave_most_others_called_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it matter of how many undecided images the chances are looked at."""
    features, given, _ = world(each=60, foreign=40, wrong=20)
    before = judge_labels(features, given, 4)
    decided = torch.full_like(given, UNDECIDED)
    kept = before.foreign.nonzero().squeeze(1)[:2]
    decided[kept] = given[kept]
    called = []
    for most, weight in ((20_000, 50.0), (40, 50.0), (20_000, 0.0)):
        monkeypatch.setattr(recalibration, "ROWS_BEFORE", most)
        monkeypatch.setattr(recalibration, "WEIGHT_BEFORE", weight)
        after = judge_labels(features, given, 4, decided=decided)
        called.append(int((after.foreign & before.foreign).sum()) / (int(before.foreign.sum()) - 2))
    assert called[0] > 0.8 and called[1] > 0.7 and called[2] < 0.7


def test_weights_of_undecided_images_by_hand() -> None:
    likely = torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    expected = [50 / 3 * (0.25 + 1), 50 / 3 * (0.25 + 1), 50 / 3 * 0.5]
    assert weights_before(likely).tolist() == pytest.approx(expected)
    assert weights_before(torch.zeros(0, 3)).tolist() == []


@pytest.mark.parametrize("foreign", [2, 10])
def test_where_caution_outweighs_decisions_chances_stay(foreign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With three foreign images or more, the odds of one more class are an input, too."""
    for name in ("OFFSET_CAUTION", "SLOPE_CAUTION"):
        monkeypatch.setattr(recalibration, name, 1e7)
    features, given, true = world(each=20, foreign=30, wrong=10)
    decided = torch.full_like(given, UNDECIDED)
    decided[-foreign:], decided[:10] = NO_CLASS, true[:10]
    said = judge_labels(features, given, 4, decided=decided)
    rest = decided == UNDECIDED
    first = judge_labels(features, given, 4).chances
    plain = (chances(said.evidence, said.table) * first).sqrt()
    plain /= plain.sum(dim=1, keepdim=True)
    assert torch.allclose(said.chances[rest], plain[rest], atol=1e-4)
    sure = confidence(said.evidence, plain[:, WRONG], said.table).clamp(0.005, 0.995)
    assert torch.allclose(said.confidence[rest], sure[rest], atol=1e-4)


def test_foreign_odds_are_those_of_one_more_class() -> None:
    features, given, true = world(each=20, foreign=30, wrong=10)
    decided = torch.where(torch.arange(110) % 2 == 0, true, UNDECIDED)
    said = judge_labels(features, given, 4, decided=decided)
    found = foreign_odds(said.features, said.evidence, given, decided, said.folds)
    likely, targets = said.evidence.log_chances.exp(), torch.zeros(110, 5)
    for row, (label, told) in enumerate(zip(given.tolist(), decided.tolist(), strict=True)):
        if told == UNDECIDED:
            targets[row, label] = likely[row, label] / likely[row].max()
        else:
            targets[row, told if told >= 0 else 4] = 1
    chance = fit_softmax(said.features, targets, said.folds).unseen(said.features, said.folds).double().softmax(dim=1)
    odds = np.log(chance[:, 4].numpy()) - np.log(1 - chance[:, 4].numpy())
    assert np.allclose(found.numpy(), (odds - odds.mean()) / odds.std(ddof=1), atol=1e-3)
    open_ones = decided == UNDECIDED
    assert float(found[open_ones & (true == -1)].mean()) > float(found[open_ones & (true >= 0)].mean()) + 1


def test_decided_images_are_certain_and_teach_the_others() -> None:
    features, given, true = world(foreign=60, wrong=40)
    decided = torch.full_like(given, UNDECIDED)
    rows = torch.randperm(len(given), generator=torch.Generator().manual_seed(1))[:120]
    decided[rows] = true[rows]
    before, said = judge_labels(features, given, 4), judge_labels(features, given, 4, decided=decided)
    told = said.chances[rows]
    assert told.max(dim=1).values.tolist() == [1.0] * 120
    assert torch.equal(said.foreign[rows], true[rows] == -1)
    assert torch.equal(said.wrong[rows], (true[rows] >= 0) & (true[rows] != given[rows]))
    wrong = rows[(true[rows] >= 0) & (true[rows] != given[rows])]
    assert torch.equal(said.evidence.suggested[wrong], true[wrong]) and bool((said.confidence[wrong] == 1).all())
    rest = decided == UNDECIDED
    truth = truth_of(given, true)
    hits = [float((each.chances.argmax(dim=1) == truth)[rest].float().mean()) for each in (before, said)]
    assert hits[1] >= hits[0]
    assert float(said.chances[rest & (true == -1), OUTSIDE].mean()) > float(
        before.chances[rest & (true == -1), OUTSIDE].mean()
    )


def test_targets_follow_the_decisions() -> None:
    features, given, true = world()
    decided = torch.full_like(given, UNDECIDED)
    decided[0], decided[-1], decided[30] = true[0], NO_CLASS, given[30]
    targets = judge_labels(features, given, 4, decided=decided).targets
    assert targets[0].argmax() == true[0] and targets[0].sum() == 1
    assert targets[-1].sum() == 0 and targets[30, given[30]] == 1


def test_corrected_labels_do_not_make_the_others_look_right() -> None:
    """All corrected labels are right by making, which says nothing about those that nobody looked at."""
    features, given, true = world(foreign=0)
    right = given == true
    confirmed = right & (torch.arange(len(given)) % 2 == 0)
    decided = torch.where(confirmed, given, UNDECIDED)
    open_ones = ~confirmed
    known = judge_labels(features, given, 4, decided=decided, confirmed=confirmed)
    assert torch.equal(known.chances[confirmed][:, CLEAN], torch.ones(int(confirmed.sum())))
    fitted = judge_labels(features, given, 4, decided=decided)
    assert known.chances[open_ones][:, WRONG].mean() > fitted.chances[open_ones][:, WRONG].mean()
