"""LOND-DRS with savings: which passes are left out, and that the terms are those of loops over what remains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from methods.prepared import (
    CLASSES,
    black_box,
    means,
    noisy_samples,
    plain_mixes,
    prepared,
    seeded,
    split_views,
    survey_images,
)
from methods.tiny import first_batches, survey_of, tiny_lond
from reference import lond_drs as ref

from lond.methods import LondDrsFastSettings, LondDrsSettings, Savings
from lond.methods.lond_drs_fast import FAST
from lond.types import Clock

SURVEYED = Savings(survey_targets=True)


def test_the_fast_variant_is_lond_drs_with_savings() -> None:
    assert LondDrsFastSettings().savings == FAST
    assert replace(LondDrsFastSettings(), savings=Savings()).__dict__ == LondDrsSettings().__dict__
    assert Savings() != FAST


@pytest.mark.parametrize("survey_targets", [False, True])
def test_step_equals_the_loops(survey_targets: bool) -> None:
    method, samples, phase = prepared(savings=replace(FAST, survey_targets=survey_targets))
    assert set(phase.streams) == {"clean", "closed"}
    assert method.partition is not None
    corrected = torch.where(method.partition.closed, (samples.labels + 1) % CLASSES, samples.labels)
    part = method.partition = replace(method.partition, corrected=corrected)
    batches = first_batches(samples, phase, 9)
    terms = method.step("robust", batches, Clock(2), seeded())

    forward, images = black_box(method), survey_images(samples).double().numpy()
    prototypes = ref.unit_rows(method.net.prototypes.detach().double().numpy())
    clean, closed = batches["clean"], batches["closed"]
    clean_views, closed_views = split_views(clean), split_views(closed)

    def shown(views: list[list[np.ndarray]], row: int, at: int) -> list[np.ndarray]:
        """Return what the targets of a row come from: its views, or the plain image of the identification."""
        return [images[at]] if survey_targets else [view[row] for view in views]

    targets = [
        ref.clean_target(forward, shown(clean_views, row, at), label, prototypes, 0.1, 0.5)
        for row, (at, label) in enumerate(zip(clean.indices.tolist(), clean.labels.tolist(), strict=True))
    ]
    for row, at in enumerate(closed.indices.tolist()):
        seen = shown(closed_views, row, at)
        targets.append(ref.closed_target(forward, seen, float(part.weights[at]), prototypes, 0.1, 0.5))
    # One draw for both views.
    mixes = plain_mixes([len(targets)], 1.0, seeded()) * 2
    expected = ref.supervised(forward, clean_views, closed_views, targets, mixes, prototypes, 0.1)
    together = [[*first, *second] for first, second in zip(clean_views, closed_views, strict=True)]
    rows = torch.cat([clean.indices, closed.indices])
    labels, weights = part.corrected[rows].tolist(), part.weights[rows].tolist()
    expected["contrastive"] = ref.contrastive(forward, together, labels, weights, mixes, 0.1)
    weak, strong = (ref.mixed_images(view, mix) for view, mix in zip(together, mixes, strict=True))
    expected["consistency"] = ref.consistency(forward, weak, strong)
    assert means(terms) == pytest.approx(expected, rel=3e-5)


PASSES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "none": ({}, ["both", "both", "all", "trusted"]),
    "targets": ({"survey_targets": True}, ["both", "all", "trusted"]),
    "consistency": ({"consistency_on_supervised": True}, ["both", "both", "all"]),
    "contrast": ({"contrast_on_supervised": True}, ["both", "both", "trusted"]),
    "the fast variant": (vars(FAST), ["both", "both"]),
    "and targets": ({**vars(FAST), "survey_targets": True}, ["both"]),
}
"""Name -> savings, and what passes in a step: two views of each."""


@pytest.mark.parametrize("name", PASSES)
def test_passes_of_a_step(name: str) -> None:
    changes, wanted = PASSES[name]
    method, samples, phase = prepared(savings=Savings(**changes))
    batches = first_batches(samples, phase, 9)
    sizes = {stream: len(batch.labels) for stream, batch in batches.items()}
    sizes["both"] = sizes["clean"] + sizes["closed"]
    passes: list[int] = []
    method.net.register_forward_hook(lambda _, args, __: passes.append(len(args[0])))
    terms = method.step("robust", batches, Clock(2), seeded())
    assert passes == [2 * sizes[stream] for stream in wanted]
    assert set(terms) == {"one_vs_all", "prototype", "pseudo_label", "consistency", "contrastive"}


@pytest.mark.parametrize(
    ("contrastive", "consistency"),
    [([0.9, 0, 0] * 4, [0, 0, 2.0, 0] * 3), ([0.6, 0], [0, 1.0]), ([0.3], [0.5])],
)
def test_terms_of_every_few_steps_weigh_more(contrastive: list[float], consistency: list[float]) -> None:
    """Also in epochs of fewer steps each term comes."""
    settings = {"contrastive_weight": 0.3, "consistency_weight": 0.5}
    method, samples, phase = prepared(savings=Savings(contrast_every=3, consistency_every=4), **settings)
    batches = first_batches(samples, phase, 9)
    weights = {"contrastive": [], "consistency": []}
    for step in range(len(contrastive)):
        terms = method.step("robust", batches, Clock(2, step, len(contrastive)), seeded())
        for name, found in weights.items():
            found.append(terms[name].weight if name in terms else 0.0)
    assert weights["contrastive"] == pytest.approx(contrastive)
    assert weights["consistency"] == pytest.approx(consistency)


def test_targets_of_one_view_are_those_of_the_weak_view() -> None:
    method, samples, phase = prepared(savings=Savings(one_view_targets=True))
    plain, _, _ = prepared()
    batches = first_batches(samples, phase, 9)
    weak = {name: replace(batch, views=batch.views[:1]) for name, batch in batches.items()}
    passes: list[int] = []
    method.net.register_forward_hook(lambda _, args, __: passes.append(len(args[0])))
    found = method._targets(batches["clean"], batches["closed"])
    assert passes == [len(batches["clean"].labels) + len(batches["closed"].labels)]
    assert torch.equal(found, plain._targets(weak["clean"], weak["closed"]))
    assert not torch.allclose(found, plain._targets(batches["clean"], batches["closed"]))


def test_passes_of_the_released_program() -> None:
    method, samples, phase = prepared(details="released")
    batches = first_batches(samples, phase, 9)
    sizes = {stream: len(batch.labels) for stream, batch in batches.items()}
    passes: list[int] = []
    method.net.register_forward_hook(lambda _, args, __: passes.append(len(args[0])))
    method.step("robust", batches, Clock(2), seeded())
    both = sizes["clean"] + sizes["closed"]
    each = [sizes["closed"], sizes["clean"], both, sizes["all"], sizes["trusted"]]
    assert passes == [size for size in each for _ in range(2)]


def test_a_weight_of_zero_switches_a_saved_term_off() -> None:
    method, samples, phase = prepared(savings=FAST, consistency_weight=0.0, contrastive_weight=0.0)
    terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
    assert set(terms) == {"one_vs_all", "prototype", "pseudo_label"}


def test_identification_every_other_epoch() -> None:
    samples = noisy_samples()
    method = tiny_lond(samples, warmup_epochs=1, savings=Savings(survey_targets=True, identify_every=2))
    surveys, survey = [], survey_of(method, samples)

    def counted(describe: Any) -> Any:
        surveys.append(epoch)
        return survey(describe)

    for epoch in range(6):
        method.before_epoch(epoch, counted)
    assert surveys == [1, 3, 5]


def test_targets_come_from_the_last_identification() -> None:
    method, samples, _ = prepared(savings=SURVEYED)
    first, survey = method.surveyed, survey_of(method, samples)
    with torch.no_grad():
        method.net.projection_head[-1].weight.mul_(torch.linspace(0.9, 1.1, 8)[:, None])
        method.before_epoch(2, survey)
        latest = survey(method._describe)
    assert first is not None and method.surveyed is not None
    assert not torch.allclose(first[0], latest[0], atol=1e-4)
    assert all(torch.equal(*pair) for pair in zip(method.surveyed, latest, strict=True))


def test_what_was_surveyed_is_in_the_checkpoint() -> None:
    method, samples, _ = prepared(savings=SURVEYED)
    other = tiny_lond(samples, savings=SURVEYED)
    other.load_extra_state(method.extra_state())
    assert other.surveyed is not None and method.surveyed is not None
    assert all(torch.equal(*pair) for pair in zip(other.surveyed, method.surveyed, strict=True))
    plain, _, _ = prepared()
    assert set(plain.extra_state()) == {"partition"}
