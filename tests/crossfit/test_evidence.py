"""LabelEvidence on labels: its parts by hand, and what it may not depend on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from lond.crossfit import evidence, opinions
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.crossfit.evidence import (
    best_other,
    class_ranks,
    energy,
    from_median,
    gather,
    normal_ranks,
    spread_over_classes,
)
from lond.crossfit.features import learn_preparation
from lond.crossfit.heads import LabelTargets, fit_softmax
from lond.types import UNLABELLED


def clusters(each: int = 20, classes: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    true = torch.arange(each * classes) % classes
    features = (4 * torch.randn(classes, 6, generator=generator))[true]
    features = features + 0.5 * torch.randn(len(true), 6, generator=generator)
    return learn_preparation(features)(features), true


def test_ranks_are_normal_quantiles_and_ties_share_theirs() -> None:
    ranks = normal_ranks(torch.tensor([3.0, 1.0, 2.0]))
    normal = torch.distributions.Normal(0.0, 1.0)
    assert normal.cdf(ranks).tolist() == pytest.approx([5 / 6, 1 / 6, 3 / 6], abs=1e-6)
    assert normal_ranks(torch.tensor([5.0, 5.0, 5.0])).tolist() == pytest.approx([0, 0, 0], abs=1e-6)
    tied = normal_ranks(torch.tensor([1.0, 2.0, 2.0, 3.0]))
    assert tied[1] == tied[2] == pytest.approx(0, abs=1e-6)
    within = class_ranks(torch.tensor([1.0, 2.0, 9.0, 8.0]), torch.tensor([0, 0, 1, 1]))
    assert within[[0, 3]].tolist() == within[0].repeat(2).tolist() and within[1] == within[2] == -within[0]


def test_the_distance_from_the_median_has_no_unit() -> None:
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, 100.0])
    assert from_median(values).tolist() == pytest.approx([-2 / 1.4826, -1 / 1.4826, 0, 1 / 1.4826, 8])
    assert torch.allclose(from_median(7 * values), from_median(values))
    assert from_median(torch.ones(3)).tolist() == [0, 0, 0]
    # Where most values are equal, the least deviation is a millionth.
    assert from_median(torch.tensor([0.0, 0.0, 0.0, 0.0, 3e-6])).tolist() == pytest.approx([0, 0, 0, 0, 3])


def test_the_likeliest_other_class_and_the_energy() -> None:
    logits = torch.tensor([[3.0, 2.0, 1.0]])
    assert best_other(logits, torch.tensor([0])).tolist() == [1]
    assert best_other(logits, torch.tensor([2])).tolist() == [0]
    assert energy(logits).tolist() == pytest.approx([-math.log(math.e + 1 + 1 / math.e)])


def test_wrong_labels_stand_out() -> None:
    features, true = clusters()
    given = true.clone()
    given[:3] = (true[:3] + 1) % 3
    found = gather(features, given, 3, torch.arange(60) // 3 % 5)
    assert found.image["differs"].nonzero().squeeze(1).tolist() == [0, 1, 2]
    assert found.suggested[:3].equal(true[:3])
    assert found.whole["disagreement"] == pytest.approx(3 / 60)
    assert found.whole["classes"] == pytest.approx(math.log(3))
    assert found.whole["per_class"] == pytest.approx(math.log(20))
    assert all(column.isfinite().all() and column.shape == (60,) for column in found.image.values())
    assert float(found.share.min()) >= 0 and float(found.share.max()) <= 1
    likely = found.log_chances.exp()
    assert found.best.equal(likely.argmax(dim=1)) and found.best_chance.equal(likely.amax(dim=1))
    rows = torch.arange(60)
    left = likely[rows, found.suggested] / (1 - likely[rows, given])
    assert torch.allclose(found.share, left, atol=1e-3)


def test_the_own_label_plays_no_part_in_what_heads_and_neighbours_say() -> None:
    features, true = clusters()
    folds = torch.arange(60) // 3 % 5
    other = true.clone()
    other[0] = (true[0] + 1) % 3
    first, second = (gather(features, given, 3, folds) for given in (true, other))
    assert first.log_chances[0].argmax() == second.log_chances[0].argmax() == true[0]
    assert torch.allclose(first.members[0], second.members[0], atol=0.02)
    assert torch.allclose(first.shares[0], second.shares[0], atol=0.01)
    assert first.near.indices.equal(second.near.indices)


def test_both_looks_have_scales_that_fit_the_labels() -> None:
    """Heads on features of unit length are far too unsure; the second ones learn less from doubted labels."""
    features, true = clusters()
    given, folds = true.clone(), torch.arange(60) // 3 % 5
    given[:6] = (true[:6] + 1) % 3
    found = gather(features, given, 3, folds)
    first = found.opinions
    assert first.scales == opinions.fit_scales(replace(first, scales=(1.0, 1.0, 1.0))) != (1.0, 1.0, 1.0)
    likely, rows = found.log_chances.exp(), torch.arange(60)
    weights = likely[rows, given] / likely.max(dim=1).values
    heads = fit_softmax(features, LabelTargets(given, weights, 3), folds, with_last=False)
    second = replace(first, said=heads, scales=opinions.fit_scales(replace(first, said=heads)))
    expected = second.log_chances(rows)[rows, given].clamp_min(-8)
    assert torch.allclose(found.image["log_given2"], expected, atol=1e-4)
    unscaled = replace(second, scales=(1.0, 1.0, 1.0)).log_chances(rows)[rows, given]
    assert not torch.allclose(unscaled, expected, atol=0.1)


def test_an_image_is_compared_with_the_mean_of_its_neighbours() -> None:
    features, true = clusters()
    found = gather(features, true, 3, torch.arange(60) // 3 % 5)
    doubt = [1 - math.exp(float(found.log_chances[row, true[row]])) for row in range(60)]
    best = [float(row.max()) for row in found.members]
    for row in (0, 17, 59):
        near = found.near.indices[row].tolist()
        assert len(near) == 20
        assert float(found.image["near_doubt"][row]) == pytest.approx(sum(doubt[at] for at in near) / 20, abs=1e-5)
        assert float(found.image["near_member"][row]) == pytest.approx(sum(best[at] for at in near) / 20, abs=1e-5)


def test_nothing_is_lost_of_features_that_are_long() -> None:
    """Squares of lengths 1.44, 1.96 and 0.25 leave 0, 0 and 0.75."""
    features, true = clusters()
    features = features * torch.tensor([1.2, 1.4, 0.5]).repeat_interleave(20)[:, None]
    image = gather(features, true, 3, torch.arange(60) // 3 % 5).image
    long, short = image["residual_rank"][:40], image["residual_rank"][40:]
    assert len(long.unique()) == 1 and float(long[0]) < 0 < float(short.min())
    assert not image["residual_far"][:40].any() and image["residual_far"][40:].tolist() == [8] * 20


def test_rounding_is_not_ranked_where_all_directions_are_kept() -> None:
    features, true = clusters()
    assert (1 - features.square().sum(dim=1)).any()
    image = gather(features, true, 3, torch.arange(60) // 3 % 5).image
    assert len(image["residual_rank"].unique()) == 1
    assert not image["residual_far"].any()


def test_no_chance_counts_as_less_than_the_floor() -> None:
    features, true = clusters()
    sure = torch.nn.functional.one_hot((true + 1) % 3, 3) * 500.0
    image = gather(features, (true + 1) % 3, 3, torch.arange(60) // 3 % 5, unseen_logits=sure).image
    assert float(image["log_other"].min()) == -8


def test_logits_of_networks_take_the_place_of_heads() -> None:
    features, true = clusters()
    folds = torch.arange(60) // 3 % 5
    swapped = torch.nn.functional.one_hot((true + 1) % 3, 3) * 50.0
    found = gather(features, true, 3, folds, unseen_logits=swapped)
    assert found.image["energy_rank"].isfinite().all()
    assert not torch.allclose(found.log_chances, gather(features, true, 3, folds).log_chances)


def test_images_without_a_label_are_judged_but_not_learned_from() -> None:
    features, true = clusters()
    given = true.clone()
    given[::6] = UNLABELLED
    found = gather(features, given, 3, torch.arange(60) // 3 % 5)
    assert found.label[::6].equal(true[::6])
    assert not found.image["differs"][::6].any()
    assert found.whole["per_class"] == pytest.approx(math.log(50 / 3))


def test_images_called_foreign_teach_no_class() -> None:
    """Were they taught as any one class, it would matter which class has which number."""
    features, true = clusters()
    folds = torch.arange(60) // 3 % 5
    decided = torch.full_like(true, UNDECIDED)
    decided[::4] = NO_CLASS
    found = gather(features, true, 3, folds, decided=decided)
    renamed = gather(features, (true + 1) % 3, 3, folds, decided=decided)
    for name, column in found.image.items():
        assert torch.allclose(renamed.image[name], column, atol=1e-4), name


def test_a_sample_has_as_many_of_each_class_as_there_are() -> None:
    labels = torch.tensor([0] * 10 + [1] * 2 + [UNLABELLED] * 3 + [2] * 5)
    rows = spread_over_classes(labels, 3, 12)
    assert torch.bincount(labels[rows]).tolist() == [4, 2, 4]
    assert rows.equal(rows.sort().values) and int((rows < 5).sum()) == 2


def test_heads_of_a_sample_still_find_wrong_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    features, true = clusters(each=40)
    given = true.clone()
    given[:3] = (true[:3] + 1) % 3
    monkeypatch.setattr(evidence, "HEAD_IMAGES", 60)
    found = gather(features, given, 3, torch.arange(120) // 3 % 5)
    assert found.image["differs"].nonzero().squeeze(1).tolist() == [0, 1, 2]


def test_parts_of_the_images_give_what_all_at_once_give(monkeypatch: pytest.MonkeyPatch) -> None:
    features, true = clusters()
    folds = torch.arange(60) // 3 % 5
    whole = gather(features, true, 3, folds)
    monkeypatch.setattr(opinions, "CELLS", 21)
    parts = gather(features, true, 3, folds)
    for name, column in whole.image.items():
        assert torch.allclose(parts.image[name], column, atol=1e-5), name
    assert parts.whole == pytest.approx(whole.whole, abs=1e-5)
    assert torch.allclose(parts.log_chances, whole.log_chances, atol=1e-5)
