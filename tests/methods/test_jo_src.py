"""Jo-SRC: a step against a loop, the edges of its rules, its switches, and what it keeps of a run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from methods.tiny import default_settings, first_batches, survey_of, tiny_method, tiny_samples, tiny_trainer

from lond.errors import ConfigError
from lond.identify import Assignment
from lond.methods.jo_src import JoSrc, JoSrcSettings, clean_likelihood, smoothed_labels, smoothing_of
from lond.types import UNLABELLED, Batch, Clock, Samples, Term


def method_for(samples: Samples, **changes: Any) -> JoSrc:
    method = tiny_method(samples, "jo-src", replace(default_settings("jo-src"), **changes))
    assert isinstance(method, JoSrc)
    return method


def robust_batch(method: JoSrc, samples: Samples) -> Batch:
    (phase,) = method.before_epoch(1, survey_of(method, samples))
    assert phase.name == "robust"
    assert phase.streams["all"].views == ("weak", "weak")
    return first_batches(samples, phase, 16)["all"]


def step(method: JoSrc, phase: str, batch: Batch, epoch: int = 1) -> dict[str, Term]:
    return method.step(phase, {"all": batch}, Clock(epoch), torch.Generator())


@torch.no_grad()
def outputs(net: Any, batch: Batch) -> list[np.ndarray]:
    return [net(view).logits.double().softmax(dim=1).numpy() for view in batch.views]


@pytest.mark.parametrize(
    ("num_classes", "smoothing", "expected"),
    [(4, 0.6, [0.4, 0.2, 0.2, 0.2]), (2, 0.4, [0.6, 0.4]), (3, 0.0, [1, 0, 0])],
)
def test_smoothed_labels(num_classes: int, smoothing: float, expected: list[float]) -> None:
    assert smoothed_labels(torch.tensor([0]), num_classes, smoothing)[0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("label_share", "threshold"),
    [(0.93, 0.75), (0.76, 0.90), (0.09, 0.90), (0.66, 0.95), (0.17, 0.95)],
)
def test_where_the_likelihood_crosses_the_thresholds(label_share: float, threshold: float) -> None:
    """Published smoothing, 80 classes, the rest spread evenly: undecided samples count as clean, very sure ones not."""
    p = torch.full((1, 80), (1 - label_share) / 79)
    p[0, 3] = label_share
    assert clean_likelihood(p, smoothed_labels(torch.tensor([3]), 80, 0.6)).item() == pytest.approx(threshold, abs=0.01)


def test_the_likelihood_keeps_to_its_bounds() -> None:
    p = torch.eye(5)
    assert clean_likelihood(p, p).tolist() == [1.0] * 5
    assert clean_likelihood(p, p.roll(1, 0)).min() >= 0


@pytest.mark.parametrize("classes", [2, 3, 10, 16, 79])
def test_few_classes_keep_the_published_distance_between_labels(classes: int) -> None:
    row = smoothed_labels(torch.tensor([0]), classes, smoothing_of(JoSrcSettings(), classes))[0]
    other = row.roll(1) if classes == 2 else row[[1, 0, *range(2, classes)]]
    assert row[0] > row[1]
    # 80 classes, 0.6: (0.4, 0.6 / 79, ...) against the same with the first two exchanged.
    high, low = 0.4, 0.6 / 79
    by_hand = high * math.log2(2 * high / (high + low)) + low * math.log2(2 * low / (high + low))
    assert clean_likelihood(row[None], other[None]).item() == pytest.approx(1 - by_hand, abs=1e-4)


def test_the_published_smoothing_at_the_published_classes() -> None:
    usual, low = JoSrcSettings(), JoSrcSettings(label_smoothing=0.3)
    assert smoothing_of(usual, 80) == smoothing_of(usual, 100) == 0.6
    assert smoothing_of(low, 2) == smoothing_of(low, 80) == 0.3


def test_the_rule_of_the_first_version() -> None:
    """It limited the published value to four fifths of the way to equal shares."""
    first = JoSrcSettings(**JoSrcSettings.formerly)
    assert [smoothing_of(first, classes) for classes in (2, 16, 80)] == pytest.approx([0.4, 0.6, 0.6])
    assert smoothing_of(first, 3) == pytest.approx(0.8 * 2 / 3)


def test_too_much_smoothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="3 classes"):
        method_for(tiny_samples(), label_smoothing=0.7)


def test_warm_up_learns_from_all_at_first_and_from_the_likely_later() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, warmup_epochs=4, clean_threshold=0.95).eval()
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    batch = first_batches(samples, phase)["all"]
    p, q = outputs(method.net, batch)
    labels = smoothed_labels(batch.labels, 3, method.smoothing)
    both = -(labels.numpy() * (np.log(p) + np.log(q))).sum(axis=1)
    np.testing.assert_allclose(step(method, "warm-up", batch, 0)["classification"].values.detach(), both, atol=1e-5)
    likelihood = clean_likelihood(torch.tensor(p), labels).numpy()
    # Half of the batch is likely enough in the last of 500 warm-up epochs, all of it in the middle.
    middle = float(np.sort(likelihood)[7:9].mean())
    method = method_for(samples, warmup_epochs=500, clean_threshold=middle * 500 / 499, final_threshold=1.0).eval()
    late = step(method, "warm-up", batch, 499)["classification"].values.detach()
    assert len(late) == 8
    np.testing.assert_allclose(late, both[likelihood >= middle], atol=1e-5)
    early = step(method, "warm-up", batch, 250)["classification"].values.detach()
    np.testing.assert_allclose(early, both, atol=1e-5)


def test_the_threshold_rises_in_warm_up_and_on_the_ramp() -> None:
    method = method_for(tiny_samples(12), warmup_epochs=4, ramp_epochs=10, clean_threshold=0.6, final_threshold=0.8)
    found = [method.threshold(epoch) for epoch in (0, 1, 3, 4, 5, 9, 14, 99)]
    assert found == pytest.approx([0, 0.15, 0.45, 0.6, 0.62, 0.7, 0.8, 0.8])
    at_once = method_for(tiny_samples(12), warmup_epochs=4, ramp_epochs=0, clean_threshold=0.6, final_threshold=0.8)
    assert [at_once.threshold(epoch) for epoch in (3, 4)] == pytest.approx([0.45, 0.8])


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


def test_a_batch_without_a_likely_sample_gives_a_zero_that_can_be_descended() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, warmup_epochs=2)
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    batch = first_batches(samples, phase)["all"]
    method.threshold = lambda epoch: 1.1  # type: ignore[method-assign]
    (term,) = step(method.train(), "warm-up", batch).values()
    assert term.values.tolist() == [0.0] * 16
    term.values.mean().backward()
    assert all(parameter.grad is not None for parameter in method.net.parameters())


@pytest.mark.parametrize("limit", [None, 0.05])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_robust_step_equals_the_loop(classes: int, limit: float | None) -> None:
    samples = tiny_samples(40, classes)
    method = method_for(samples, divergence_limit=limit, consistency_weight=0.3, open_temperature=7.0).train()
    batch = robust_batch(method, samples)
    # A second view of something else, different weights in the teacher, a threshold in the middle: all kinds occur.
    batch = replace(batch, views=(batch.views[0], batch.views[1].flip(0)))
    with torch.no_grad():
        for parameter in method.teacher.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.1)
    p, q = outputs(method.net, batch)
    taught = sum(outputs(method.teacher, batch)) / 2
    labels = smoothed_labels(batch.labels, classes, method.smoothing)
    likelihood = clean_likelihood(torch.tensor(p), labels)
    tau = float(likelihood.double().quantile(0.43))
    method.threshold = lambda epoch: tau  # type: ignore[method-assign]
    terms = step(method, "robust", batch)
    assert terms["classification"].weight == pytest.approx(0.7)
    assert terms["consistency"].weight == pytest.approx(0.3)
    kinds = set()
    for i in range(16):
        kl = sum(
            p[i, c] * math.log2(p[i, c] / q[i, c]) + q[i, c] * math.log2(q[i, c] / p[i, c]) for c in range(classes)
        )
        if likelihood[i] >= tau:
            kind, target, sign = "clean", labels[i].numpy(), 1
        elif p[i].argmax() == q[i].argmax():
            kind, target, sign = "closed", taught[i], 1
        else:
            flat = np.exp(taught[i] / 7)
            kind, target, sign = "open", flat / flat.sum(), -1
            kl = min(kl, limit) if limit else kl
        kinds.add(kind)
        expected = -(target * (np.log(p[i]) + np.log(q[i]))).sum()
        assert terms["classification"].values[i].item() == pytest.approx(expected, abs=1e-4)
        assert terms["consistency"].values[i].item() == pytest.approx(sign * kl, abs=1e-5)
    assert kinds == {"clean", "closed", "open"}


def test_open_samples_are_flattened_and_pushed_apart() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, divergence_limit=0.5).eval()
    robust_batch(method, samples)
    first = torch.tensor([[3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.2, 0.0, 0.0]])
    second = torch.tensor([[0.0, 3.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.2, 0.0]])
    kinds = Assignment(*(torch.tensor(row) for row in ([False] * 3, [False, True, False], [True, False, True])))
    taught = torch.tensor([[0.9, 0.1, 0.0]] * 3)
    targets = method._targets(kinds, torch.eye(3), taught)
    np.testing.assert_allclose(targets[0], torch.softmax(taught[0] / 10, dim=0))
    assert torch.equal(targets[1], taught[1])
    values = method._terms(first, second, targets, kinds)["consistency"].values
    assert values[0].item() == pytest.approx(-0.5)
    assert values[1] > 0
    assert -0.5 < values[2] < 0


def test_without_consistency_there_is_one_full_term() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, consistency_weight=0.0)
    (term,) = step(method.train(), "robust", robust_batch(method, samples)).values()
    assert term.weight == 1


def test_the_teacher_follows_and_the_student_alone_is_trained() -> None:
    samples = tiny_samples(40)
    method = method_for(samples).train()
    before = method.teacher.net.last.weight.clone()
    terms = step(method, "robust", robust_batch(method, samples))
    sum(term.weight * term.values.mean() for term in terms.values()).backward()  # type: ignore[union-attr]
    assert all(parameter.grad is not None for parameter in method.net.parameters())
    assert all(parameter.grad is None for parameter in method.teacher.parameters())
    with torch.no_grad():
        method.net.last.weight.add_(1)
    method.after_step()
    assert not torch.equal(method.teacher.net.last.weight, before)


def test_the_partition_holds_the_verdicts_of_the_batches() -> None:
    labels = (torch.arange(40) % 3).index_fill(0, torch.tensor([0, 7]), UNLABELLED)
    samples = tiny_samples(40, labels=labels)
    method = method_for(samples)
    batch = robust_batch(method, samples)
    step(method.train(), "robust", batch)
    method.after_epoch(1)
    partition = method.partition
    assert partition is not None
    assert (partition.clean.int() + partition.closed.int() + partition.open.int() == 1).all()
    assert not partition.clean[labels < 0].any()
    assert torch.equal(partition.corrected[partition.clean], labels[partition.clean])
    assert (partition.weights[partition.clean] == 1).all()
    assert (partition.weights[partition.open] == 0).all()
    # Those that no batch has shown are not trusted.
    unseen = torch.ones(40, dtype=torch.bool).index_fill(0, batch.indices, value=False)
    assert partition.closed[unseen].all()
    assert (partition.weights[unseen] == 0).all()
    assert (partition.corrected >= 0).all()


def test_closed_samples_take_the_teachers_class_and_its_confidence() -> None:
    samples = tiny_samples(40)
    method = method_for(samples, clean_threshold=1.0, final_threshold=1.0).train()
    batch = robust_batch(method, samples)
    step(method, "robust", batch)
    method.after_epoch(1)
    taught = torch.tensor(sum(outputs(method.teacher, batch)) / 2).float()
    partition = method.partition
    assert partition is not None and not partition.clean.any()
    closed = partition.closed[batch.indices]
    assert closed.any()
    assert torch.equal(partition.corrected[batch.indices], taught.argmax(dim=1))
    assert torch.allclose(partition.weights[batch.indices][closed], taught.max(dim=1).values[closed], atol=1e-5)


def test_warm_up_judges_nobody_and_leaves_unlabelled_samples_out() -> None:
    labels = (torch.arange(40) % 3).index_fill(0, torch.tensor([3]), UNLABELLED)
    samples = tiny_samples(40, labels=labels)
    method = method_for(samples)
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert phase.lead == 39
    method.after_epoch(0)
    assert method.partition is None
    (phase,) = method.before_epoch(1, survey_of(method, samples))
    assert phase.lead == 40


def test_two_classes_are_learned() -> None:
    samples = tiny_samples(60, 2)
    trainer = tiny_trainer(samples, "jo-src", test=samples, epochs=8)
    assert trainer.run().history[-1]["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"warmup_epochs": -1}, "warmup"),
        ({"ramp_epochs": -1}, "ramp"),
        ({"clean_threshold": 0.96}, "threshold"),
        ({"final_threshold": 1.1}, "threshold"),
        ({"label_smoothing": 1.0}, "smoothing"),
        ({"consistency_weight": 1.0}, "consistency"),
        ({"teacher_momentum": 1.0}, "momentum"),
        ({"open_temperature": 0.0}, "open_temperature"),
        ({"divergence_limit": 0.0}, "divergence"),
    ],
)
def test_settings_that_mean_nothing_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        JoSrcSettings(**changes)
