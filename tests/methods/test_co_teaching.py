"""Co-teaching: the exchange against a loop, the ramp, verdicts, prediction by network 1."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_trainer

from lond.detect import MSP
from lond.errors import ConfigError
from lond.methods import CoTeaching, CoTeachingSettings, Task
from lond.methods.for_detectors import OpenedClassifier
from lond.types import UNLABELLED, Batch, Clock, Samples

SETTINGS = CoTeachingSettings(noise_rate=0.5, ramp_epochs=3)


def pair(samples: Samples, settings: CoTeachingSettings = SETTINGS) -> CoTeaching:
    method = tiny_method(samples, "co-teaching", settings)
    assert isinstance(method, CoTeaching)
    return method


def a_batch(method: CoTeaching, samples: Samples, size: int = 10) -> Batch:
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert phase.streams["all"].views == ("weak",)
    return first_batches(samples, phase, size)["all"]


def losses_by_hand(method: CoTeaching, batch: Batch, network: int) -> list[float]:
    """Cross-entropy of every row, in Python."""
    with torch.no_grad():
        rows = method.net(network)(batch.views[0]).logits.double().tolist()
    logs = [math.log(math.fsum(math.exp(x) for x in row)) for row in rows]
    return [log - row[label] for log, row, label in zip(logs, rows, batch.labels.tolist(), strict=True)]


def smallest_by_hand(losses: list[float], count: int) -> set[int]:
    return set(sorted(range(len(losses)), key=losses.__getitem__)[:count])


def run_step(method: CoTeaching, batch: Batch, epoch: int) -> dict[str, Any]:
    return method.step("exchange", {"all": batch}, Clock(epoch), torch.Generator())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("epoch", "kept"), [(0, 10), (1, 7), (2, 5), (9, 5)])
def test_each_network_learns_what_its_peer_picked(classes: int, epoch: int, kept: int) -> None:
    samples = tiny_samples(20, classes)
    method = pair(samples).eval()
    batch = a_batch(method, samples)
    terms = run_step(method, batch, epoch)
    by_hand = [losses_by_hand(method, batch, network) for network in (0, 1)]
    for network, name in enumerate(("net1", "net2")):
        chosen = smallest_by_hand(by_hand[1 - network], kept)
        expected = [by_hand[network][row] for row in sorted(chosen)]
        assert terms[name].values.tolist() == pytest.approx(expected, abs=1e-5)
        assert terms[name].weight == 1.0


def test_the_networks_differ_and_share_no_gradient() -> None:
    samples = tiny_samples(20)
    method = pair(samples).train()
    first, second = (list(method.net(index).parameters()) for index in (0, 1))
    assert any(not torch.equal(a, b) for a, b in zip(first, second, strict=True))
    run_step(method, a_batch(method, samples), 5)["net1"].values.mean().backward()
    assert all(parameter.grad is not None for parameter in first)
    assert all(parameter.grad is None for parameter in second)


def test_rows_that_the_peer_dropped_leave_no_trace() -> None:
    """In evaluation mode rows do not meet in batch normalisation, so only picked images carry gradient."""
    samples = tiny_samples(20)
    method = pair(samples).eval()
    batch = a_batch(method, samples)
    images = batch.views[0].clone().requires_grad_()
    run_step(method, replace(batch, views=(images,)), 5)["net1"].values.mean().backward()
    assert images.grad is not None
    touched = set(images.grad.flatten(1).abs().sum(dim=1).nonzero().flatten().tolist())
    assert touched <= smallest_by_hand(losses_by_hand(method, batch, 1), 5)
    assert touched


def test_a_batch_too_small_for_the_rate_gives_one_sample() -> None:
    samples = tiny_samples(20)
    method = pair(samples, CoTeachingSettings(noise_rate=0.8, ramp_epochs=0)).eval()
    terms = run_step(method, a_batch(method, samples, 3), 0)
    assert all(len(term.values) == 1 for term in terms.values())


def test_ramp_and_exponent_matter() -> None:
    samples = tiny_samples(20)
    sizes = []
    for changes in ({}, {"ramp_epochs": 5}, {"ramp_exponent": 2.0, "ramp_epochs": 5}, {"noise_rate": 0.1}):
        method = pair(samples, replace(SETTINGS, **changes)).eval()
        sizes.append(len(run_step(method, a_batch(method, samples), 2)["net1"].values))
    assert sizes == [5, 7, 5, 9]


# Verdicts


def whole_epoch(method: CoTeaching, samples: Samples, epoch: int) -> Batch:
    batch = a_batch(method, samples, len(samples))
    run_step(method, batch, epoch)
    method.after_epoch(epoch)
    return batch


def test_clean_is_what_both_find_easy() -> None:
    samples = tiny_samples(20)
    method = pair(samples).eval()
    whole_epoch(method, samples, 0)
    assert method.partition is None, "nothing was dropped, so nothing was judged"
    batch = whole_epoch(method, samples, 2)
    easy = [smallest_by_hand(losses_by_hand(method, batch, network), 10) for network in (0, 1)]
    partition = method.partition
    assert partition is not None
    assert set(partition.clean[batch.indices].nonzero().flatten().tolist()) == easy[0] & easy[1]
    assert torch.equal(partition.closed, ~partition.clean)
    assert not partition.open.any()
    with torch.no_grad():
        belief, predicted = torch.softmax(method.net(0)(batch.views[0]).logits, dim=1).max(dim=1)
    clean = partition.clean[batch.indices]
    assert torch.equal(partition.corrected[batch.indices], torch.where(clean, batch.labels, predicted))
    assert torch.allclose(partition.weights[batch.indices], torch.where(clean, 1.0, belief))


def test_samples_that_were_never_shown_keep_their_label_and_are_not_believed() -> None:
    labels = (torch.arange(20) % 3).index_fill(0, torch.tensor([0, 7]), UNLABELLED)
    samples = tiny_samples(20, labels=labels)
    method = pair(samples).eval()
    batch = a_batch(method, samples, 8)
    assert (batch.labels >= 0).all()
    run_step(method, batch, 2)
    method.after_epoch(2)
    assert method.partition is not None
    shown = torch.zeros(20, dtype=torch.bool).index_fill(0, batch.indices, True)
    assert not method.partition.clean[~shown].any()
    # Unlabelled samples are never shown; they have no label to keep.
    assert torch.equal(method.partition.corrected[~shown], labels[~shown].clamp_min(0))
    assert method.partition.closed[[0, 7]].all()
    assert (method.partition.corrected >= 0).all()
    assert not method.partition.weights[~shown].any()


def test_noise_is_found() -> None:
    labels = torch.arange(90) % 3
    wrong = torch.arange(90) % 5 == 0
    samples = tiny_samples(90, labels=torch.where(wrong, (labels + 1) % 3, labels))
    trainer = tiny_trainer(samples, "co-teaching", settings=CoTeachingSettings(ramp_epochs=4), epochs=8)
    last = trainer.run().history[-1]
    assert last["clean_precision"] > 0.9
    assert last["corrected_accuracy"] > 0.8


# Prediction and state


@torch.no_grad()
def test_network_1_alone_predicts() -> None:
    samples = tiny_samples(20)
    method = pair(samples).eval()
    images = torch.randn(5, 1, 8, 8)
    out = method.predict(images)
    logits = method.net(0)(images).logits
    assert torch.equal(out.logits, logits)
    assert torch.allclose(out.probabilities, torch.softmax(logits, dim=1))
    assert torch.allclose(out.scores, 1 - out.probabilities.max(dim=1).values, atol=1e-6)
    network = method.network()
    assert isinstance(network, OpenedClassifier)
    assert network.net is method.net(0)
    assert torch.equal(MSP(network).score(images), out.scores)


def test_it_can_be_loaded_without_labels() -> None:
    samples = tiny_samples(20)
    method = pair(samples).eval()
    whole_epoch(method, samples, 2)
    task = Task(torch.empty(0, dtype=torch.long), 3, lambda: (torch.nn.Sequential(torch.nn.Flatten()), 64))
    empty = CoTeaching(SETTINGS, task)
    empty.load_extra_state(method.extra_state())
    assert torch.equal(empty.seen.rows, method.seen.rows)
    assert empty.partition is not None and method.partition is not None
    assert torch.equal(empty.partition.clean, method.partition.clean)


def test_the_head_is_linear_unless_told_otherwise() -> None:
    assert len(pair(tiny_samples()).net(0).neck) == 0
    assert len(pair(tiny_samples(), CoTeachingSettings(head="mlp", hidden=12)).net(1).neck) > 0


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"noise_rate": 1.0}, "noise_rate"),
        ({"noise_rate": -0.1}, "noise_rate"),
        ({"ramp_epochs": -1}, "ramp_epochs"),
        ({"ramp_exponent": 0.0}, "ramp_exponent"),
        ({"hidden": 0}, "hidden"),
    ],
)
def test_refused_settings(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        CoTeachingSettings(**changes)
