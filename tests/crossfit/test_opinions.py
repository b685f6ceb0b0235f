"""Opinions of heads and neighbours: votes by hand, scales against a search of all, parts against the whole."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from lond.crossfit import opinions
from lond.crossfit.heads import LabelTargets, fit_softmax
from lond.crossfit.opinions import SCALES, UnseenOpinions, fit_scale, fit_scales, label_shares
from lond.identify.neighbours import Neighbours, nearest_neighbours
from lond.types import UNLABELLED


def test_shares_are_votes_by_similarity_with_one_of_the_mix() -> None:
    near = Neighbours(torch.tensor([[1, 2], [0, 2], [0, 1]]), torch.tensor([[0.9, 0.8], [0.9, 0.1], [0.8, 0.1]]))
    shares = label_shares(torch.tensor([0, 1, 1]), near, 2)
    mix = torch.tensor([1.5, 2.5]) / 4
    assert shares[0].tolist() == pytest.approx(((mix + torch.tensor([0.0, 2.0])) / 3).tolist())
    first = 2 * math.exp(9) / (math.exp(9) + math.exp(1))
    expected = (mix + torch.tensor([first, 2 - first])) / 3
    assert shares[1].tolist() == pytest.approx(expected.tolist(), abs=1e-5)


def test_neighbours_without_a_label_do_not_vote() -> None:
    near = Neighbours(torch.tensor([[1, 2], [0, 2], [0, 1]]), torch.full((3, 2), 0.5))
    shares = label_shares(torch.tensor([0, UNLABELLED, 1]), near, 2)
    assert shares[0].tolist() == pytest.approx([0.5 / 2, 1.5 / 2])
    assert shares.sum(dim=1).tolist() == pytest.approx([1, 1, 1])


def test_logits_are_scaled_to_fit_the_labels() -> None:
    logits = torch.tensor([[1.0, 0.0]] * 10)
    labels = torch.tensor([0] * 9 + [1])
    chances = (logits[0] * fit_scale(logits, labels)).softmax(dim=0)
    # log 9 = 2.2 is the scale at which the first class has nine tenths.
    assert chances.tolist() == pytest.approx([0.9, 0.1], abs=0.01)


@pytest.mark.parametrize("strength", [0.05, 0.5, 1.0, 3.0, 50.0])
def test_the_scale_is_the_best_of_all(strength: float) -> None:
    generator = torch.Generator().manual_seed(3)
    labels = torch.arange(200) % 4
    logits = strength * (F.one_hot(labels, 4) + torch.randn(200, 4, generator=generator))
    losses = [float(F.cross_entropy(logits.double() * scale, labels)) for scale in SCALES.double()]
    assert fit_scale(logits, labels) == float(SCALES[losses.index(min(losses))])


def made() -> UnseenOpinions:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(90) % 3
    features = F.normalize(F.one_hot(labels, 3) + 0.4 * torch.randn(90, 3, generator=generator), dim=1)
    labels[::10] = UNLABELLED
    folds = torch.arange(90) // 3 % 3
    heads = fit_softmax(features, LabelTargets(labels, (labels >= 0).float(), 3), folds, with_last=False)
    near = nearest_neighbours(features, 5, include_self=False)
    return UnseenOpinions(features, labels, folds, near, 3, heads)


def test_chances_join_heads_and_neighbours() -> None:
    said = made()
    said = replace(said, scales=fit_scales(said))
    rows = torch.tensor([4, 80, 7])
    a, b, c = said.scales
    head = torch.log_softmax(a * said.said.unseen(said.features, said.folds), dim=1)  # type: ignore[union-attr]
    votes = torch.log_softmax(b * label_shares(said.labels, said.near, 3).log(), dim=1)
    expected = torch.log_softmax(c * (head + votes / 2), dim=1)[rows]
    assert torch.allclose(said.log_chances(rows), expected, atol=1e-5)
    known = said.labels >= 0
    losses = [F.cross_entropy(scale * (head + votes / 2)[known], said.labels[known]) for scale in SCALES]
    assert c == pytest.approx(float(SCALES[int(torch.stack(losses).argmin())]))


def test_parts_cover_all_images_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opinions, "CELLS", 21)
    parts = list(made().parts())
    assert [len(part) for part in parts] == [7] * 12 + [6]
    assert torch.cat(parts).equal(torch.arange(90))
