"""How often the intervals of rates hold the truth, of whole sets and of their classes, for few and for many classes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from lond.crossfit.judgement import judge_labels

KINDS = ("wrong", "foreign")


def world(seed: int, classes: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return features, given labels, and the truth (-1 = foreign), at rates of up to 30 % that the seed says."""
    random = torch.Generator().manual_seed(seed)
    centres = 0.8 * torch.randn(classes + 3, 32, generator=random)
    true = torch.randint(0, classes, (count,), generator=random)
    wrong, foreign = torch.rand(2, count, generator=random) < 0.3 * torch.rand(2, 1, generator=random)
    kind = torch.where(foreign, torch.randint(classes, classes + 3, (count,), generator=random), true)
    given = torch.where(wrong, (true + torch.randint(1, classes, (count,), generator=random)) % classes, true)
    return centres[kind] + torch.randn(count, 32, generator=random), given, torch.where(foreign, -1, true)


@dataclass
class Held:
    """Whether each interval held the truth, and how wide it was."""

    true: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def share(self) -> float:
        return sum(self.true) / len(self.true)

    def width(self) -> float:
        return sum(self.widths) / len(self.widths)


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("count", [300, 1000])
def test_intervals_hold_the_rates_of_sets_and_of_classes(classes: int, count: int) -> None:
    """At 2 classes a foreign image agrees with its label every second time, so agreement alone would miss half."""
    whole, by_class = ({kind: Held() for kind in KINDS} for _ in range(2))
    for seed in range(20):
        features, given, true = world(seed, classes, count)
        judgement = judge_labels(features, given, classes)
        truth = {"wrong": (given != true) & (true >= 0), "foreign": true < 0}
        every = torch.ones(count, dtype=torch.bool)
        for rows, held in [(every, whole), *((given == own, by_class) for own in range(classes))]:
            rates = judgement.rates(rows)
            for kind in KINDS:
                rate, share = rates[kind], float(truth[kind][rows].double().mean())
                held[kind].true.append(rate.low - 1e-9 <= share <= rate.high + 1e-9)
                held[kind].widths.append(rate.high - rate.low)
    for kind in KINDS:
        assert whole[kind].share() >= 0.9 and by_class[kind].share() >= 0.9, kind
        # From nothing to everything would hold any truth.
        assert whole[kind].width() < 0.4 and by_class[kind].width() < 0.5, kind
