"""The whole way from features and labels to verdicts, targets, rates and a model for new images."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from lond.crossfit.chances import ENOUGH_DECISIONS, FOREIGN_FROM, FOREIGN_FROM_DECIDED, confidence, load_table
from lond.crossfit.decided import UNDECIDED
from lond.crossfit.evidence import gather
from lond.crossfit.judgement import Judgement, fit_linear, judge_labels, weighted_quantile
from lond.errors import DataError
from lond.types import UNLABELLED


def world(each: int = 60, classes: int = 4, foreign: int = 24, wrong: int = 20) -> tuple[Tensor, Tensor, Tensor]:
    """Return features, given labels and true ones (-1 = foreign): clusters, some labels shifted, some strangers."""
    generator = torch.Generator().manual_seed(3)
    true = torch.cat([torch.arange(each * classes) % classes, torch.full((foreign,), -1)])
    centres = 3 * torch.randn(classes + 3, 12, generator=generator)
    kinds = torch.where(true >= 0, true, classes + torch.arange(len(true)) % 3)
    features = centres[kinds] + torch.randn(len(true), 12, generator=generator)
    given = torch.where(true >= 0, true, torch.arange(len(true)) % classes)
    given[:wrong] = (given[:wrong] + 1) % classes
    return features, given, true


def test_wrong_labels_are_found_and_the_right_one_is_suggested() -> None:
    features, given, true = world(foreign=0)
    said = judge_labels(features, given, 4)
    wrong = given != true
    assert (said.wrong == wrong).float().mean() > 0.97
    assert (said.evidence.suggested == true)[wrong].float().mean() > 0.95
    assert said.confidence[wrong].mean() > 0.6
    assert torch.equal(said.confidence, confidence(said.evidence, said.chances[:, 1], load_table()))
    assert not (said.wrong & said.foreign).any()


def test_foreign_images_are_likelier_foreign_than_others() -> None:
    features, given, true = world()
    likely = judge_labels(features, given, 4).chances[:, 2]
    pairs = likely[true < 0][:, None] > likely[true >= 0][None]
    assert pairs.float().mean() > 0.8


def test_nothing_is_called_foreign_where_labels_say_nothing() -> None:
    features, labels, _ = world(classes=8)
    random = torch.randint(0, 8, labels.shape, generator=torch.Generator().manual_seed(0))
    judged, lost = judge_labels(features, labels, 8), judge_labels(features, random, 8)
    assert not judged.beyond_table and lost.beyond_table
    certain = torch.tensor([0.0, 0.0, 1.0]).expand_as(lost.chances)
    nearly = torch.tensor([0.0, 0.01, 0.99]).expand_as(lost.chances)
    assert not replace(lost, chances=nearly).foreign.any()
    assert replace(lost, chances=nearly).wrong.all() and replace(lost, chances=certain).foreign.all()
    assert replace(judged, chances=nearly).foreign.all() and not replace(judged, chances=nearly).wrong.any()


def test_targets_sum_to_what_is_not_foreign() -> None:
    features, given, _ = world()
    given[5] = UNLABELLED
    said = judge_labels(features, given, 4)
    assert said.targets.shape == (264, 4) and bool((said.targets >= 0).all())
    assert torch.allclose(said.targets.sum(dim=1), 1 - said.chances[:, 2], atol=1e-4)
    rows = torch.arange(264)[given >= 0]
    assert torch.allclose(said.targets[rows, given[rows]], said.chances[rows, 0], atol=1e-6)
    assert not said.wrong[5]


def test_rates_of_classes_add_up_to_those_of_the_set() -> None:
    features, given, _ = world()
    said = judge_labels(features, given, 4)
    whole = said.rates()
    for kind in ("wrong", "foreign", "either"):
        parts = [(said.rates(given == own)[kind].estimate, int((given == own).sum())) for own in range(4)]
        assert sum(rate * count for rate, count in parts) / len(given) == pytest.approx(whole[kind].estimate)
        assert whole[kind].low <= whole[kind].estimate <= whole[kind].high
    assert whole["wrong"].estimate + whole["foreign"].estimate == pytest.approx(whole["either"].estimate, abs=1e-6)
    assert said.rates(torch.zeros(len(given), dtype=torch.bool)) == {}


def test_the_same_seed_gives_the_same_judgement() -> None:
    features, given, _ = world()
    first, second, other = (judge_labels(features, given, 4, seed=seed).chances for seed in (0, 0, 1))
    assert torch.equal(first, second) and not torch.equal(first, other)


def test_a_model_of_the_judged_images_knows_new_ones_and_keeps_its_word() -> None:
    features, given, true = world(each=200, foreign=60, wrong=80)
    told = torch.arange(len(true)) // 4 % 2 == 0
    said = judge_labels(features[told], given[told], 4)
    model = fit_linear(said)
    new, truth = features[~told], true[~told]
    assert (model.classes(new).argmax(dim=1) == truth)[truth >= 0].float().mean() > 0.95
    scores = model.scores(new)
    assert (scores[truth < 0][:, None] > scores[truth >= 0][None]).float().mean() > 0.8
    alarms = (scores[truth >= 0] > model.threshold(said, 0.1)).float().mean()
    assert float(alarms) < 0.13


def test_the_threshold_goes_by_heads_that_did_not_see_the_image() -> None:
    """With so few images for so many dimensions, heads know by heart what they saw."""
    features = torch.randn(40, 64, generator=torch.Generator().manual_seed(0))
    said = judge_labels(features, torch.arange(40) % 2, 2)
    model = fit_linear(said)
    scores = [-float((said.features[row] @ model.members.weights[fold]).max()) for row, fold in enumerate(said.folds)]
    known = 1 - said.chances[:, 2]
    assert model.threshold(said, 0.2) == pytest.approx(weighted_quantile(torch.tensor(scores), known, 0.8), abs=1e-5)
    assert float((model.scores(features) > model.threshold(said, 0.2)).float().mean()) < 0.05


def test_a_weighted_quantile_counts_one_more_image_above() -> None:
    values = torch.tensor([3.0, 1.0, 2.0, 4.0])
    assert weighted_quantile(values, torch.ones(4), 0.5) == 3.0
    assert weighted_quantile(values, torch.tensor([0.0, 1.0, 0.0, 1.0]), 0.3) == 1.0
    assert weighted_quantile(values, torch.ones(4), 0.99) == 4.0


@pytest.mark.parametrize(
    ("features", "labels", "classes", "message"),
    [
        (torch.zeros(4, 2, 2), torch.zeros(4, dtype=torch.long), 2, "one row an image"),
        (torch.zeros(3, 2), torch.zeros(4, dtype=torch.long), 2, "one row an image"),
        (torch.zeros(4, 2), torch.tensor([0, 1, 2, 0]), 2, "below the number of classes"),
        (torch.zeros(4, 2), torch.zeros(4, dtype=torch.long), 1, "at least 2"),
        (torch.full((4, 2), torch.nan), torch.tensor([0, 1, 0, 1]), 2, "not a finite number"),
        (torch.rand(3, 2), torch.tensor([0, 1, UNLABELLED]), 2, "too few"),
    ],
)
def test_what_cannot_be_judged_is_told(features: Tensor, labels: Tensor, classes: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        judge_labels(features, labels, classes)


def test_few_images_and_two_classes_can_be_judged() -> None:
    features = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    said = judge_labels(features, torch.tensor([0, 1, 0, 1, 0, 1]), 2)
    assert said.chances.isfinite().all() and said.chances.shape == (6, 3)
    assert fit_linear(said).scores(features).isfinite().all()


def test_decisions_do_not_pass_for_noise() -> None:
    """What models that learned the decisions think of the set is left out; the amount of noise stays what it was."""
    features, given, true = world()
    decided = torch.where(torch.arange(len(given)) < 12, true, UNDECIDED)
    before, after = judge_labels(features, given, 4), judge_labels(features, given, 4, decided=decided)
    assert after.evidence.whole == before.evidence.whole
    learned = gather(after.features, given, 4, after.folds, decided=decided)
    assert learned.whole != before.evidence.whole


def test_the_limit_of_foreign_falls_with_decisions() -> None:
    features, given, true = world()
    nobody = judge_labels(features, given, 4)

    def after(count: int) -> Judgement:
        decided = torch.full_like(given, UNDECIDED)
        decided[:count] = true[:count]
        return replace(nobody, decided=decided)

    assert nobody.foreign_from == after(0).foreign_from == FOREIGN_FROM
    assert after(ENOUGH_DECISIONS // 2).foreign_from == pytest.approx((FOREIGN_FROM + FOREIGN_FROM_DECIDED) / 2)
    assert after(ENOUGH_DECISIONS).foreign_from == after(2 * ENOUGH_DECISIONS).foreign_from == 0.5
    # Decisions that were confirmed before teach nothing.
    confirmed = torch.arange(len(given)) % 2 == 0
    half = replace(after(ENOUGH_DECISIONS), confirmed=confirmed)
    assert half.foreign_from == after(ENOUGH_DECISIONS // 2).foreign_from
    rather = torch.tensor([0.35, 0.05, 0.6]).expand_as(nobody.chances)
    assert replace(after(ENOUGH_DECISIONS), chances=rather).foreign.all()
    assert not replace(nobody, chances=rather).foreign.any()
