"""Foreign scores by the labels around an image, and how many of them are asked."""

from __future__ import annotations

import pytest
import torch

from lond.audit.judge.voters import count_voters, foreign_scores
from lond.identify import Neighbours, label_votes, scattered_labels


@pytest.mark.parametrize(
    ("images", "wrong_labels", "voters"),
    [
        (50_000, 0.0, 20),
        (50_000, 0.2, 25),
        (50_000, 0.4, 33),
        (50_000, 0.8, 100),
        (50_000, 0.98, 100),
        (50_000, 1.0, 100),
        (400, 0.8, 40),
        (100, 0.0, 10),
        (30, 0.5, 5),
        (1, 0.0, 5),
    ],
)
def test_about_twenty_voters_have_right_labels(images: int, wrong_labels: float, voters: int) -> None:
    assert count_voters(images, wrong_labels) == voters


def test_more_voters_see_through_wrong_labels() -> None:
    """Two classes and foreign images, each among its own kind; four of five labels are drawn at random."""
    random = torch.Generator().manual_seed(0)
    kind = torch.arange(3000) % 3
    labels = torch.where(torch.rand(3000, generator=random) < 0.8, torch.randint(10, (3000,), generator=random), kind)
    labels[kind == 2] = torch.randint(10, ((kind == 2).sum(),), generator=random)
    order = torch.stack([torch.randperm(1000, generator=random)[:100] for _ in range(3000)])
    near = Neighbours(order * 3 + kind[:, None], torch.ones(3000, 100))
    found = {}
    for rate in (0.0, 0.8):
        scores = foreign_scores(labels, near, 10, rate)
        found[rate] = float((scores[kind == 2][:, None] > scores[kind < 2]).double().mean())
    assert found[0.0] < 0.85 < 0.95 < found[0.8]


def test_foreign_scores_are_one_minus_the_neighbours_largest_share() -> None:
    labels = torch.tensor([0, 0, 1, 1, 1, 2] * 10)
    near = Neighbours(torch.arange(6).repeat(60, 1), torch.ones(60, 6))
    assert torch.allclose(foreign_scores(labels, near, 3, 0.0), torch.full((60,), 0.5))
    # Only a tenth of the images vote.
    assert torch.allclose(foreign_scores(labels[:50], near, 3, 0.0), torch.full((60,), 1 - 3 / 5))


def test_a_small_class_is_not_foreign() -> None:
    """Twelve images of a rare class, all next to each other, among 400 others."""
    labels = torch.tensor([0] * 400 + [1] * 12)
    rare = torch.arange(400, 412)
    near = torch.arange(30).repeat(412, 1)
    for image in rare.tolist():
        near[image] = torch.cat([rare[rare != image], torch.arange(19)])
    similarities = torch.linspace(1, 0.5, 30).repeat(412, 1)
    scores = foreign_scores(labels, Neighbours(near, similarities), 2, 1 / 3)
    assert float(scores[rare].max()) == 0
    plain = scattered_labels(label_votes(labels, Neighbours(near, similarities), 2))
    assert float(plain[rare].min()) > 0.1
