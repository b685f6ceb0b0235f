"""SED: judgement and step against loops, its switches, its start, and exact continuation of robust epochs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from methods.tiny import default_settings, first_batches, survey_of, tiny_method, tiny_samples, tiny_trainer
from torch import Tensor

from lond.errors import ConfigError
from lond.methods import Survey, sed
from lond.methods.sed import Sed, SedSettings
from lond.train.checkpoint import same_state
from lond.types import UNLABELLED, Batch, Clock, Phase, Samples, Term


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge right after warm-up, however little is known."""
    monkeypatch.setattr(sed, "PATIENCE", 0)


def settings_for(**changes: Any) -> SedSettings:
    settings: SedSettings = replace(default_settings("sed"), **changes)
    return settings


def method_for(samples: Samples, **changes: Any) -> Sed:
    method = tiny_method(samples, "sed", settings_for(**changes))
    assert isinstance(method, Sed)
    return method


def start(method: Sed, samples: Samples, epoch: int = 1) -> tuple[Phase, dict[str, Batch]]:
    (phase,) = method.before_epoch(epoch, survey_of(method, samples))
    return phase, first_batches(samples, phase)


def step(method: Sed, phase: Phase, batches: dict[str, Batch]) -> dict[str, Term]:
    return method.step(phase.name, batches, Clock(1), torch.Generator())


def shaken(method: Sed) -> Sed:
    """Give the teacher other weights than the student."""
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in method.teacher.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=random))
    return method


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_warm_up_by_hand(clamp: bool, smoothing: float) -> None:
    samples = tiny_samples(40)
    method = method_for(samples, clamp_logits=clamp, label_smoothing=smoothing, penalty_weight=0.7).eval()
    phase, batches = start(method, samples, 0)
    assert phase.name == "warm-up" and phase.streams["all"].views == ("weak",)
    terms = step(method, phase, batches)
    with torch.no_grad():
        logits = method.net(batches["all"].views[0]).logits.double()
    target = (1 - smoothing) * F.one_hot(batches["all"].labels, 3) + smoothing / 3
    expected = -(target * logits.log_softmax(dim=1)).sum(dim=1)
    np.testing.assert_allclose(terms["cross_entropy"].values.detach(), expected, atol=1e-5)
    p = (logits.relu() if clamp else logits).softmax(dim=1)
    np.testing.assert_allclose(terms["penalty"].values.detach(), (p * p.log()).sum(dim=1), atol=1e-5)
    assert terms["penalty"].weight == 0.7
    assert (logits < 0).any()


def test_the_penalty_can_be_switched_off() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, penalty_weight=0.0)
    assert set(step(method.train(), *start(method, samples, 0))) == {"cross_entropy"}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("classes", [2, 3])
def test_the_judgement_equals_the_loop(classes: int) -> None:
    samples = tiny_samples(40, classes)
    method = shaken(method_for(samples, threshold_memory=0.6, moment_memory=0.3, quantile=0.7, sharpness=1.5))
    described: list[Tensor] = []

    def survey(describe: Any) -> tuple[Tensor, ...]:
        described.extend(survey_of(method, samples)(describe))
        return tuple(described)

    method.before_epoch(1, survey)
    p, v, c = (part.double().numpy() for part in described)
    y, n = samples.labels.numpy(), len(samples)
    u = p[np.arange(n), y]
    level = 0.6 / classes + 0.4 * np.quantile(u, 0.7)
    mass = 0.6 / classes + 0.4 * p.mean(axis=0)
    clean = np.array([u[i] >= level * mass[y[i]] / mass.max() - 1e-9 for i in range(n)])
    mean, variance = np.zeros(classes), np.ones(classes)
    for label in range(classes):
        rows = v[c == label]
        own = (rows.mean(), rows.var(ddof=1)) if len(rows) > 1 else (0.0, 1.0)
        mean[label], variance[label] = 0.3 / classes + 0.7 * own[0], 0.3 + 0.7 * own[1]
    below = np.minimum(v - mean[c.astype(int)], 0)
    weights = np.exp(-(below**2) / (2 * variance[c.astype(int)] / 1.5**2))
    partition = method.partition
    assert partition is not None
    assert partition.clean.tolist() == clean.tolist()
    assert partition.closed.tolist() == (~clean).tolist()
    assert not partition.open.any()
    np.testing.assert_allclose(partition.weights, np.where(clean, 1, weights), atol=1e-4)
    assert partition.corrected.tolist() == np.where(clean, y, c).tolist()
    assert method.threshold_level.item() == pytest.approx(level, abs=1e-5)
    np.testing.assert_allclose(method.class_mass, mass, atol=1e-5)
    np.testing.assert_allclose(method.confidence_mean, mean, atol=1e-5)
    np.testing.assert_allclose(method.confidence_variance, variance, atol=1e-5)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_a_robust_step_equals_the_loop(smoothing: float) -> None:
    samples = tiny_samples(40)
    method = shaken(method_for(samples, ssl_weight=0.5, label_smoothing=smoothing))
    phase, batches = start(method, samples)
    assert phase.name == "robust" and phase.streams["all"].views == ("weak", "strong")
    batch = batches["all"]
    method.train()
    terms = step(method, phase, batches)
    assert terms["clean"].weight == 1
    assert terms["taught"].weight == 0.5
    assert method.partition is not None
    clean = method.partition.clean[batch.indices]
    assert clean.any() and not clean.all()
    with torch.no_grad():
        weak, strong = (method.net(view).logits.double().log_softmax(dim=1) for view in batch.views)

    def loss(rows: Tensor, label: int) -> float:
        return -math.fsum((smoothing / 3 + (1 - smoothing) * (k == label)) * rows[k].item() for k in range(3))

    expected = [loss(weak[i], int(batch.labels[i])) for i in range(16) if clean[i]]
    np.testing.assert_allclose(terms["clean"].values.detach(), expected, atol=1e-4)
    method.eval()
    with torch.no_grad():
        _, _, classes = survey_of(method, samples)(method._describe)
    for i, row in enumerate(batch.indices.tolist()):
        wanted = method._trust[row].item() * loss(strong[i], int(classes[row]))
        assert terms["taught"].values[i].item() == pytest.approx(wanted, abs=1e-4)


@pytest.mark.usefixtures("eager")
def test_a_batch_without_a_clean_sample_learns_from_the_teacher_alone() -> None:
    samples = tiny_samples(40)
    method = method_for(samples)
    phase, batches = start(method, samples)
    assert method.partition is not None
    method.partition.clean.zero_()
    assert set(step(method.train(), phase, batches)) == {"taught"}


@pytest.mark.usefixtures("eager")
def test_without_the_teachers_labels_the_clean_samples_remain() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, ssl_weight=0.0)
    phase, batches = start(method, samples)
    assert method.partition is not None
    assert phase.streams["all"].indices.tolist() == method.partition.clean.nonzero().squeeze(1).tolist()
    (term,) = step(method.train(), phase, batches).values()
    assert len(term.values) == len(batches["all"].indices)


@pytest.mark.usefixtures("eager")
def test_unlabelled_samples_are_taught_and_never_clean() -> None:
    labels = (torch.arange(40) % 3).index_fill(0, torch.tensor([0, 7]), UNLABELLED)
    samples = tiny_samples(40, labels=labels)
    method = method_for(samples)
    phase, _ = start(method, samples, 0)
    assert phase.lead == 38
    phase, batches = start(method, samples)
    assert phase.lead == 40
    assert method.partition is not None
    assert not method.partition.clean[labels < 0].any()
    assert (method.partition.corrected >= 0).all()
    assert all(term.values.isfinite().all() for term in step(method.train(), phase, batches).values())


def test_no_clean_sample_means_another_warm_up_epoch_with_a_warning() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, threshold_memory=1.0)
    method.threshold_level.fill_(0.95)
    with pytest.warns(UserWarning, match="no sample is judged clean"):
        phase, _ = start(method, samples, 99)
    assert phase.name == "warm-up"
    assert method.partition is None


def test_lost_classes_prolong_the_warm_up_but_not_for_ever() -> None:
    samples = tiny_samples(40)
    method = method_for(samples)
    # The network says class 1 whatever it sees.
    with torch.no_grad():
        for net in (method.net, method.teacher.net):
            net.last.weight.zero_()
            net.last.bias.copy_(torch.tensor([0.0, 4.0, 0.0]))
    assert start(method, samples, 1)[0].name == "warm-up"
    assert start(method, samples, sed.PATIENCE)[0].name == "warm-up"
    assert start(method, samples, sed.PATIENCE + 1)[0].name == "robust"


def test_classes_lost_after_the_first_robust_epoch_do_not_bring_warm_up_back(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = tiny_samples(40)
    method = method_for(samples)
    monkeypatch.setattr(sed, "PATIENCE", 0)
    assert start(method, samples, 1)[0].name == "robust"
    monkeypatch.undo()
    with torch.no_grad():
        for net in (method.net, method.teacher.net):
            net.last.weight.zero_()
            net.last.bias.copy_(torch.tensor([0.0, 4.0, 0.0]))
    assert start(method, samples, 2)[0].name == "robust"
    assert (method._taught == 1).all()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("limit", "level", "clean"), [(1.0, 0.95, None), (0.9, 0.9, 9), (0.6, 0.6, 21), (0.2, 0.2, 30)]
)
def test_the_global_threshold_stays_below_its_limit(limit: float, level: float, clean: int | None) -> None:
    """Nine labels have probability 0.95, which is the 80 % quantile of 30; twelve have 0.7, nine 0.3."""
    samples = tiny_samples(30)
    method = method_for(samples, threshold_memory=0.0, threshold_limit=limit)
    given = torch.tensor([0.95] * 9 + [0.7] * 12 + [0.3] * 9)
    rows = ((1 - given) / 2)[:, None].repeat(1, 3).scatter(1, samples.labels[:, None], given[:, None])
    method.before_epoch(1, lambda describe: (rows, given, samples.labels))
    assert method.threshold_level.item() == pytest.approx(level)
    if clean is not None:
        assert method.partition is not None
        assert method.partition.clean.tolist() == [True] * clean + [False] * (30 - clean)


@pytest.mark.parametrize(("momentum", "third"), [(0.5, 5.5), (0.99, 13 / 3), (0.0, 9.0)])
def test_the_teachers_momentum_beyond_the_first_step(momentum: float, third: float) -> None:
    """Even means of 1, 3 and 9 until the momentum takes over: 1, (1 + 3) / 2, then (2 + 9) / 2 or (1 + 3 + 9) / 3."""
    method = method_for(tiny_samples(12), teacher_momentum=momentum)
    found = []
    for value in (1.0, 3.0, 9.0):
        with torch.no_grad():
            method.net.last.bias.fill_(value)
        method.after_step()
        found.append(method.teacher.net.last.bias[0].item())
    assert found == pytest.approx([1, 2 if momentum else 3, third])


def test_a_class_of_few_samples_may_be_lost() -> None:
    labels = torch.tensor([0, 1] * 19 + [2, 2])
    samples = tiny_samples(40, labels=labels)
    method = method_for(samples)
    clean = labels < 2
    method._taught = labels % 2
    assert not method._is_too_early(1, clean)
    method._taught = torch.zeros_like(labels)
    assert method._is_too_early(1, clean)


def test_the_teacher_follows_in_warm_up_with_its_statistics() -> None:
    samples = tiny_samples(40)
    trainer = tiny_trainer(samples, "sed", epochs=1)
    method = trainer.method
    assert isinstance(method, Sed)
    before = {key: value.clone() for key, value in method.teacher.net.state_dict().items()}
    trainer.run()
    after = method.teacher.net.state_dict()
    assert all(not torch.equal(before[key], after[key]) for key in before)
    assert all(parameter.grad is None for parameter in method.teacher.parameters())


@pytest.mark.usefixtures("eager")
def test_a_robust_run_that_was_cut_ends_like_one_that_was_not(tmp_path: Path) -> None:
    samples = tiny_samples(40)
    whole = tiny_trainer(samples, "sed", epochs=4)
    history = whole.run().history
    assert history[-1]["phase"] == "robust"
    cut = tiny_trainer(samples, "sed", epochs=4, folder=tmp_path)
    go_on = cut.method.before_epoch

    def stop_at_three(epoch: int, survey: Survey) -> Iterable[Phase]:
        if epoch == 3:
            raise KeyboardInterrupt
        return go_on(epoch, survey)

    cut.method.before_epoch = stop_at_three  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        cut.run()
    resumed = tiny_trainer(samples, "sed", epochs=4, folder=tmp_path)
    assert resumed.resume()
    resumed.run()
    assert same_state({**whole.state(), "history": []}, {**resumed.state(), "history": []})


def test_wrong_labels_are_found_and_corrected() -> None:
    labels = (torch.arange(120) % 3).index_fill(0, torch.tensor([4, 20, 33, 50, 71]), 0)
    labels[[6, 21]] = 1
    samples = tiny_samples(120, labels=labels)
    true = torch.arange(120) % 3
    settings = settings_for(warmup_epochs=6, threshold_memory=0.5, teacher_momentum=0.9)
    trainer = tiny_trainer(samples, "sed", settings=settings, test=tiny_samples(60, seed=1), epochs=14)
    history = trainer.run().history
    assert history[-1]["accuracy"] > 0.9
    partition = trainer.method.partition
    assert partition is not None
    wrong = labels != true
    assert partition.closed[wrong].float().mean() > 0.7
    assert partition.clean[~wrong].float().mean() > 0.8
    assert (partition.corrected == true).float().mean() > 0.95


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"warmup_epochs": -1}, "warmup"),
        ({"threshold_memory": 1.1}, "threshold_memory"),
        ({"moment_memory": -0.1}, "moment_memory"),
        ({"quantile": 1.2}, "quantile"),
        ({"threshold_limit": 0.0}, "threshold_limit"),
        ({"sharpness": -1.0}, "sharpness"),
        ({"ssl_weight": -1.0}, "ssl_weight"),
        ({"penalty_weight": -1.0}, "penalty_weight"),
        ({"label_smoothing": 1.0}, "label_smoothing"),
        ({"teacher_momentum": 1.0}, "teacher_momentum"),
    ],
)
def test_settings_that_mean_nothing_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        SedSettings(**changes)


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_settings_at_their_ends_are_allowed(end: float) -> None:
    settings = SedSettings(quantile=end, threshold_memory=end, moment_memory=end, threshold_limit=1.0)
    assert (settings.quantile, settings.threshold_limit) == (end, 1)
    none = SedSettings(warmup_epochs=0, sharpness=0.0, ssl_weight=0.0, penalty_weight=0.0, label_smoothing=0.0)
    assert none.warmup_epochs == 0
