"""Stages: made once, and had from the store afterwards."""

from __future__ import annotations

import torch
from torch import Tensor

from lond.crossfit.heads import Heads
from lond.crossfit.judgement import judge_labels
from lond.crossfit.stages import Stages
from lond.identify.neighbours import Neighbours


class Memory:
    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Tensor]] = {}

    def load(self, name: str) -> dict[str, Tensor] | None:
        return self.kept.get(name)

    def save(self, name: str, tensors: dict[str, Tensor]) -> None:
        self.kept[name] = tensors


def never() -> Heads:
    raise AssertionError("made again")


def test_what_was_kept_is_not_made_again() -> None:
    stages = Stages(Memory())
    heads = Heads(torch.ones(2, 3, 4), torch.zeros(2, 4))
    assert stages.heads("first", lambda: heads).weights.equal(heads.weights)
    assert stages.heads("first", never).weights.equal(heads.weights)
    near = Neighbours(torch.tensor([[1], [0]]), torch.ones(2, 1), 0.97)
    stages.neighbours(lambda: near)
    again = stages.neighbours(lambda: Neighbours(torch.zeros(0), torch.zeros(0)))
    assert again.indices.equal(near.indices) and again.indices.dtype == torch.int64 and again.recall == 0.97


def test_a_judgement_from_kept_stages_is_the_same() -> None:
    generator = torch.Generator().manual_seed(0)
    true = torch.arange(120) % 3
    features = (4 * torch.randn(3, 8, generator=generator))[true] + torch.randn(120, 8, generator=generator)
    memory = Memory()
    first = judge_labels(features, true, 3, stages=Stages(memory))
    assert set(memory.kept) == {"neighbours", "heads", "second heads"}
    assert judge_labels(features, true, 3, stages=Stages(memory)).chances.equal(first.chances)
    assert judge_labels(features, true, 3).chances.equal(first.chances)
