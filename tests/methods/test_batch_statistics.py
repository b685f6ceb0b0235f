"""Targets of a step are made in training mode: by the statistics of the batch, never by the running ones."""

from __future__ import annotations

import copy

import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_samples, tiny_trainer
from torch import Tensor

from lond.methods import METHODS, Method, sed
from lond.types import Clock, Phase, Samples

RESTING = {"dividemix", "unicon"}
"""Methods whose resting network helps to make the targets, in evaluation mode."""


def later_phase(method: Method, samples: Samples) -> Phase:
    return next(phase for phase in method.before_epoch(1, survey_of(method, samples)) if not phase.is_warmup)


def loss(method: Method, phase: Phase, samples: Samples) -> Tensor:
    random = torch.Generator().manual_seed(3)
    terms = method.train().step(phase.name, first_batches(samples, phase), Clock(1, 1, 2), random)
    return torch.stack([term.weight * term.values.mean() for term in terms.values()]).sum()


@pytest.mark.parametrize("name", sorted(set(METHODS) - RESTING))
def test_running_statistics_play_no_part(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sed, "PATIENCE", 0)
    samples = tiny_samples(48)
    trainer = tiny_trainer(samples, name, epochs=1)
    trainer.run()
    method = trainer.method
    phase = later_phase(method, samples)
    other = copy.deepcopy(method)
    changed = [buffer for key, buffer in other.named_buffers() if "running_mean" in key]
    for buffer in changed:
        buffer.add_(2)
    assert changed
    assert torch.equal(loss(method, phase, samples), loss(other, phase, samples))
