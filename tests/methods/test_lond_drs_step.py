"""Loss and gradient of a whole robust step, in training mode and with mixing, against loops."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from methods.prepared import CLASSES, prepared, seeded
from methods.tiny import first_batches
from reference.lond_drs_step import BUT_PAPER, OURS, RELEASED, Choices, StepData, StepSettings, robust_loss
from torch import Tensor

from lond.losses import draw_mix
from lond.methods import LondDrs
from lond.types import Batch, Clock

CLOCK = Clock(2, 1, 4)
"""One epoch and a quarter after a warm-up of one."""


def stepped(**changes: Any) -> tuple[LondDrs, dict[str, Batch]]:
    """Return a method in double precision and training mode, and the batches of its first robust step."""
    method, samples, phase = prepared(**changes)
    assert method.partition is not None
    corrected = torch.where(method.partition.closed, (samples.labels + 1) % CLASSES, samples.labels)
    method.partition = replace(method.partition, corrected=corrected)
    method.double().train()
    batches = first_batches(samples, phase, 7)
    doubled = {
        name: Batch(batch.indices, batch.labels, tuple(view.double() for view in batch.views))
        for name, batch in batches.items()
    }
    return method, doubled


def data_of(method: LondDrs, batches: dict[str, Batch], random: torch.Generator) -> StepData:
    part = method.partition
    assert part is not None
    clean, closed, everything = batches["clean"], batches["closed"], batches["all"]
    together = len(clean.labels) + len(closed.labels)
    sizes = [together, together, len(everything.labels), len(everything.labels)]
    mixes = [draw_mix(size, method.settings.mixup, random) for size in sizes]
    plain = [(mix.ratio, mix.partners.tolist()) for mix in mixes]
    return StepData(
        clean.views,
        closed.views,
        batches["trusted"].views,
        everything.views,
        clean.labels.tolist(),
        part.weights[closed.indices].tolist(),
        part.corrected[everything.indices].tolist(),
        part.weights[everything.indices].tolist(),
        plain[:2],
        plain[2:],
    )


def gradients(method: LondDrs, loss: Tensor) -> dict[str, Tensor]:
    method.zero_grad(set_to_none=True)
    loss.backward()
    return {name: p.grad.clone() for name, p in method.named_parameters() if p.grad is not None}


def reference(method: LondDrs, batches: dict[str, Batch], choices: Choices) -> Tensor:
    settings = method.settings
    data = data_of(method, batches, seeded())

    def forward(images: Tensor) -> tuple[Tensor, Tensor]:
        # The method's own forward rounds embeddings to single precision.
        features = method.net.backbone(images)
        raw = method.net.projection_head(features)
        lengths = raw.square().sum(dim=1, keepdim=True).sqrt()
        return raw / lengths, method.net.ova_head(features).reshape(-1, CLASSES, 2)

    told = StepSettings(
        settings.temperature,
        settings.sharpening,
        settings.consistency_weight,
        settings.contrastive_weight,
        CLOCK.time - settings.warmup_epochs,
        settings.ramp_epochs,
    )
    return robust_loss(forward, method.net.prototypes, data, told, choices)


def step_loss(method: LondDrs, batches: dict[str, Batch]) -> Tensor:
    terms = method.step("robust", batches, CLOCK, seeded())
    return sum((term.weight * term.values.mean() for term in terms.values()), torch.zeros(()))


@pytest.mark.parametrize(("details", "choices"), [("ours", OURS), ("released", BUT_PAPER)])
def test_loss_and_gradient_equal_the_loops(details: str, choices: Choices) -> None:
    method, batches = stepped(details=details)
    assert all(len(batches[name].labels) > 2 for name in ("clean", "closed", "trusted", "all"))
    ours, slow = step_loss(method, batches), reference(method, batches, choices)
    assert ours.item() == pytest.approx(slow.item(), rel=1e-5)
    got, expected = gradients(method, ours), gradients(method, slow)
    assert got.keys() == expected.keys() == dict(method.named_parameters()).keys()
    largest = max(float(value.abs().max()) for value in expected.values())
    for name, value in expected.items():
        torch.testing.assert_close(got[name], value, rtol=2e-4, atol=2e-5 * largest, msg=name)


def test_targets_are_made_in_training_mode() -> None:
    """They follow the statistics of the batch, so the running ones may be anything."""
    method, batches = stepped()
    other = copy.deepcopy(method)
    for name, buffer in other.net.named_buffers():
        if "running" in name:
            buffer.mul_(3).add_(1)
    assert torch.equal(step_loss(method, batches), step_loss(other, batches))


@pytest.mark.parametrize("choice", ["passes_apart", "positives_twice", "ramp_by_epoch"])
def test_each_choice_of_the_released_program_matters(choice: str) -> None:
    method, batches = stepped()
    released, other = (reference(method, batches, c).item() for c in (RELEASED, replace(RELEASED, **{choice: False})))
    assert abs(released - other) > 1e-4


@pytest.mark.parametrize(("details", "wanted"), [("ours", 0.85), ("released", 0.95)])
def test_the_gradient_points_where_that_of_the_released_program_does(details: str, wanted: float) -> None:
    method, batches = stepped(details=details)
    ours, released = (
        torch.cat([g.flatten() for g in gradients(method, loss).values()])
        for loss in (step_loss(method, batches), reference(method, batches, RELEASED))
    )
    assert torch.nn.functional.cosine_similarity(ours, released, dim=0) > wanted
