"""Rates after a person decided on doubtful images: how often their intervals hold the truth."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.crossfit.chances import CLEAN, OUTSIDE
from lond.crossfit.decided import NO_CLASS, UNDECIDED
from lond.crossfit.judgement import Judgement, judge_labels
from lond.crossfit.rates import EstimatedRate

CLASSES, WIDTH = 5, 32


def world(seed: int, count: int = 300) -> tuple[Tensor, Tensor, Tensor]:
    """Return features, given labels and the truth of images of which some are mislabelled and some foreign."""
    random = torch.Generator().manual_seed(seed)
    centres = 0.8 * torch.randn(CLASSES + 3, WIDTH, generator=random)
    true = torch.randint(0, CLASSES, (count,), generator=random)
    wrong, foreign = torch.rand(2, count, generator=random) < 0.2 * torch.rand(2, 1, generator=random)
    kind = torch.where(foreign, torch.randint(CLASSES, CLASSES + 3, (count,), generator=random), true)
    given = torch.where(wrong, (true + torch.randint(1, CLASSES, (count,), generator=random)) % CLASSES, true)
    features = centres[kind] + torch.randn(count, WIDTH, generator=random)
    return features, given, torch.where(foreign, NO_CLASS, true)


def least_sure_doubts(said: Judgement) -> Tensor:
    """Return the order of the page: doubted images before others, the least sure first."""
    sure = torch.where(said.foreign, said.chances[:, OUTSIDE], said.chances[:, CLEAN])
    sure = torch.where(said.wrong, said.confidence, sure)
    return ((said.wrong | said.foreign).float() + 1 - sure).argsort(descending=True)


def decided_first(said: Judgement, true: Tensor, count: int) -> Tensor:
    rows = least_sure_doubts(said)[:count]
    return torch.full_like(true, UNDECIDED).index_copy(0, rows, true[rows])


def holds(rate: EstimatedRate, share: Tensor) -> bool:
    true = float(share.double().mean())
    return rate.low - 1e-9 <= true <= rate.high + 1e-9


def test_intervals_hold_the_truth_after_decisions_on_doubtful_images() -> None:
    held = []
    for seed in range(12):
        features, given, true = world(seed)
        decided = decided_first(judge_labels(features, given, CLASSES), true, 80)
        said = judge_labels(features, given, CLASSES, decided=decided)
        for kind, share in {"wrong": (given != true) & (true >= 0), "foreign": true < 0}.items():
            held.append(holds(said.rates()[kind], share))
    assert sum(held) >= 0.95 * len(held)
