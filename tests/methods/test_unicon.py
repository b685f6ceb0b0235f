"""UNICON: selection, step and verdicts against slow references, edges and refused settings."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task, tiny_trainer

from lond.errors import ConfigError
from lond.losses import draw_mix
from lond.methods import Task, Unicon, UniconSettings
from lond.types import UNLABELLED, Clock, Phase, Samples

LABELS = torch.arange(30) % 3


def make(samples: Samples, **changes: Any) -> Unicon:
    settings = UniconSettings(**{"warmup_epochs": 0, "hidden": 16, "ramp_epochs": 2, "embedding_size": 8} | changes)
    method = tiny_method(samples, "unicon", settings)
    assert isinstance(method, Unicon)
    return method


def logits(spread: float = 2.0, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits that mostly agree with the labels, more so for class 0."""
    noise = spread * torch.randn(2, 30, 3, generator=torch.Generator().manual_seed(seed))
    first, second = noise + torch.nn.functional.one_hot(LABELS, 3) * (4.0 - 1.5 * LABELS)[:, None]
    return first, second


def phases_of(method: Unicon, first: torch.Tensor, second: torch.Tensor, epoch: int = 0) -> list[Phase]:
    return list(method.before_epoch(epoch, lambda describe: (first, second)))


def softmax(rows: np.ndarray) -> np.ndarray:
    powers = np.exp(rows - rows.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def sharp(rows: np.ndarray, temperature: float) -> np.ndarray:
    powers = rows ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def slow_divergences(first: torch.Tensor, second: torch.Tensor, labels: np.ndarray, base: float) -> np.ndarray:
    """The divergence as it is defined, with the one-hot label built."""
    mean = (softmax(first.double().numpy()) + softmax(second.double().numpy())) / 2
    out = []
    for p, label in zip(mean, labels, strict=True):
        e = np.eye(3)[label]
        m = (p + e) / 2
        terms = [
            p[c] * math.log(p[c] / m[c], base) + (e[c] * math.log(1 / m[c], base) if e[c] else 0) for c in range(3)
        ]
        out.append(sum(terms) / 2)
    return np.array(out)


@pytest.mark.parametrize("natural", [False, True])
@pytest.mark.parametrize("limit", [0.7, 0.1])
def test_selection_equals_the_slow_reference(natural: bool, limit: float) -> None:
    method = make(tiny_samples(30), natural_log=natural, divergence_limit=limit)
    first, second = logits()
    phase = phases_of(method, first, second)[0]
    d = slow_divergences(first, second, LABELS.numpy(), math.e if natural else 2.0)
    cutoff = d.mean() - (d.mean() - d.min()) / 5 if d.mean() > limit else d.mean()
    below = int((d < cutoff).sum())
    chosen = sorted(
        index
        for label in range(3)
        for index in sorted((i for i in range(30) if LABELS[i] == label), key=lambda i: d[i])[: below // 3]
    )
    assert phase.streams["labelled"].indices.tolist() == chosen
    assert phase.streams["unlabelled"].indices.tolist() == sorted(set(range(30)) - set(chosen))
    assert phase.lead == len(chosen)
    assert phase.streams["labelled"].share == phase.share == 0.5
    assert phase.streams["unlabelled"].share == pytest.approx(0.5 / (2 * below / 30))
    assert all(stream.views == ("weak", "weak", "strong", "strong") for stream in phase.streams.values())
    partition = method.partition
    assert partition is not None
    nats = slow_divergences(first, second, LABELS.numpy(), math.e)
    expected = np.where(nats < 0.5, 1, 1 - nats)
    assert np.allclose(partition.weights[partition.clean], expected[partition.clean], atol=1e-5)
    assert partition.clean.nonzero().squeeze(1).tolist() == chosen
    assert torch.equal(partition.closed, ~partition.clean) and not partition.open.any()
    assert torch.equal(partition.corrected[partition.clean], LABELS[partition.clean])
    assert torch.equal(partition.corrected[partition.closed], (first + second).argmax(dim=1)[partition.closed])
    mean = (first.softmax(dim=1) + second.softmax(dim=1)) / 2
    belief = mean[torch.arange(30), partition.corrected]
    assert torch.allclose(partition.weights[partition.closed], belief[partition.closed])


@pytest.mark.parametrize("natural", [False, True])
def test_label_weights_are_measured_in_nats_by_hand(natural: bool) -> None:
    """A label of probability 0.25 is 0.549 bits, 0.380 nats away: it is trusted. One of 0.1 is 0.526 nats away."""
    given = torch.tensor([0.25] * 3 + [0.1] * 3 + [1e-4] * 4).repeat_interleave(3)
    method = make(tiny_samples(30), natural_log=natural, divergence_limit=1.0)
    rows = ((1 - given) / 2)[:, None].repeat(1, 3).scatter(1, LABELS[:, None], given[:, None])
    phases_of(method, rows.log(), rows.log())
    assert method.partition is not None
    assert method.partition.clean.tolist() == [True] * 18 + [False] * 12
    assert method.partition.weights[:18].tolist() == pytest.approx([1.0] * 9 + [0.4744] * 9, abs=1e-4)


def test_bits_lower_a_cutoff_that_nats_cannot_reach() -> None:
    first, second = logits(seed=2)

    def ratio(**changes: Any) -> float:
        return make(tiny_samples(30), **changes)._select(-first, -second)[0].ratio

    def in_bits(**changes: Any) -> float:
        return ratio(natural_log=False, **changes)

    assert in_bits() < ratio()
    assert in_bits(divergence_limit=1.0) == in_bits(correction=1000.0) == ratio() == ratio(correction=1.0)
    assert in_bits(correction=1.0) < in_bits()


@pytest.mark.parametrize(("factor", "half", "few"), [(0.5, 1.0, 10.0), (1.0, 2.0, 10.0), (0.0, 1.0, 1.0)])
def test_the_unlabelled_batch(factor: float, half: float, few: float) -> None:
    method = make(tiny_samples(30), unlabelled_batch=factor)
    assert method._unlabelled_ratio(0.5) == half
    assert method._unlabelled_ratio(1e-6) == few
    phase, twin = phases_of(method, *logits())[0], phases_of(make(tiny_samples(30)), *logits())[0]
    wanted = twin.streams["unlabelled"].share * factor / 0.5 if factor else 0.5
    assert phase.streams["unlabelled"].share == pytest.approx(wanted)


def test_warmup_and_the_second_selection() -> None:
    samples = tiny_samples(30)
    method = make(samples, warmup_epochs=1, confidence_penalty=True).train()
    phases = list(method.before_epoch(0, survey_of(method, samples)))
    assert [phase.name for phase in phases] == ["warm-up net1", "warm-up net2"]
    batches = first_batches(samples, phases[1])
    terms = method.step(phases[1].name, batches, Clock(0), torch.Generator())
    rows = softmax(method.net(1)(batches["all"].views[0]).logits.detach().double().numpy())
    labels = batches["all"].labels.numpy()
    assert terms["cross_entropy"].values.tolist() == pytest.approx(-np.log(rows[np.arange(16), labels]), abs=1e-5)
    assert terms["confidence"].values.tolist() == pytest.approx((rows * np.log(rows)).sum(axis=1), abs=1e-5)
    surveys = iter([logits(seed=0), logits(seed=5)])
    walk = method.before_epoch(1, lambda describe: next(surveys))
    first = next(walk).streams["labelled"].indices.tolist()
    before = method.partition
    second = next(walk).streams["labelled"].indices.tolist()
    assert first != second
    assert before is not None and method.partition is not None
    assert before.clean.nonzero().squeeze(1).tolist() == first
    assert method.partition.clean.nonzero().squeeze(1).tolist() == second


@pytest.mark.parametrize(
    ("weight", "mixup", "temperature", "sharpening"),
    [(30.0, 4.0, 0.05, 0.5), (0.0, 4.0, 0.05, 0.5), (30.0, 0.5, 0.4, 0.5), (30.0, 0.0, 2.0, 0.8)],
)
def test_step_equals_the_slow_reference(weight: float, mixup: float, temperature: float, sharpening: float) -> None:
    samples = tiny_samples(30)
    method = make(samples, unlabelled_weight=weight, mixup=mixup, temperature=temperature, sharpening=sharpening)
    phase = phases_of(method, *logits())[0]
    batches = first_batches(samples, phase, 8)
    terms = method.train().step("net1", batches, Clock(1), torch.Generator().manual_seed(3))
    assert method.net(0).training and not method.net(1).training

    def run(net: int, images: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            return softmax(method.net(net)(images).logits.double().numpy())

    x, u = batches["labelled"], batches["unlabelled"]
    assert method.partition is not None
    trust = method.partition.weights[x.indices].double().numpy()[:, None]
    own_x = run(0, torch.cat(x.views[:2])).reshape(2, -1, 3).mean(axis=0)
    both_u = (run(0, torch.cat(u.views[:2])) + run(1, torch.cat(u.views[:2]))).reshape(2, -1, 3).mean(axis=0) / 2
    targets = sharp(trust * np.eye(3)[x.labels] + (1 - trust) * own_x, sharpening)
    guesses = sharp(both_u, sharpening)
    stacked = torch.cat([*x.views[2:], *u.views[2:]])
    wanted = np.concatenate([targets, targets, guesses, guesses])
    mix = draw_mix(len(stacked), mixup, torch.Generator().manual_seed(3))
    assert (mix.ratio < 1) == bool(mixup)
    mixed = mix.ratio * stacked + (1 - mix.ratio) * stacked[mix.partners]
    wanted = mix.ratio * wanted + (1 - mix.ratio) * wanted[mix.partners.numpy()]
    rows = 2 * len(x.labels)
    out = run(0, mixed if weight else mixed[:rows])
    assert terms["labelled"].values.tolist() == pytest.approx(
        -(wanted[:rows] * np.log(out[:rows])).sum(axis=1), abs=1e-4
    )
    assert terms["prior"].values.tolist() == pytest.approx([(np.log(1 / 3 / out.mean(axis=0)) / 3).sum()], abs=1e-5)
    if weight:
        distance = ((out - wanted) ** 2).mean(axis=1)[rows:]
        assert terms["unlabelled"].values.tolist() == pytest.approx(distance, abs=1e-5)
        assert terms["unlabelled"].weight == pytest.approx(weight / 2)
    assert ("unlabelled" in terms) == bool(weight)
    check_contrast(method, torch.cat(u.views[2:]), terms["contrastive"].values.tolist(), temperature)
    assert terms["contrastive"].weight == 0.025


def check_contrast(method: Unicon, strong: torch.Tensor, found: list[float], tau: float) -> None:
    with torch.no_grad():
        features = method.net(0)(strong).features
        weight, bias = method.projections[0][0].weight, method.projections[0][0].bias
        z = (features @ weight.T + bias).double().numpy()
    z = (z - z.mean(axis=0)) / np.sqrt(z.var(axis=0) + 1e-5)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    similar, half = np.exp(z @ z.T / tau), len(z) // 2
    expected = [
        -math.log(similar[i, (i + half) % (2 * half)] / (similar[i].sum() - similar[i, i])) for i in range(len(z))
    ]
    assert found == pytest.approx(expected, abs=2e-3)


def test_gradients_reach_one_network_and_its_projection() -> None:
    samples = tiny_samples(30)
    method = make(samples)
    for index, phase in enumerate(phases_of(method, *logits())):
        method.train().zero_grad()
        terms = method.step(phase.name, first_batches(samples, phase, 8), Clock(1), torch.Generator())
        sum(term.weight * term.values.mean() for term in terms.values()).backward()  # type: ignore[union-attr]
        for which in range(2):
            parameters = [*method.net(which).parameters(), *method.projections[which].parameters()]
            assert all((parameter.grad is not None) == (which == index) for parameter in parameters)


def test_the_contrastive_term_can_be_switched_off() -> None:
    samples = tiny_samples(30)
    method = make(samples, contrastive_weight=0.0).train()
    phase = phases_of(method, *logits())[0]
    terms = method.train().step("net1", first_batches(samples, phase, 8), Clock(1), torch.Generator())
    assert set(terms) == {"labelled", "prior", "unlabelled"}


def test_nothing_selected_means_another_warmup_epoch() -> None:
    method = make(tiny_samples(30))
    flat = torch.zeros(30, 3)
    with pytest.warns(UserWarning, match="fewer than two"):
        phases = phases_of(method, flat, flat)
    assert [phase.name for phase in phases] == ["warm-up net1", "warm-up net2"]
    assert method.partition is None


def test_everything_selected_means_no_unlabelled_stream() -> None:
    samples = tiny_samples(9)
    method = make(samples)
    phase = method.divided_phase("net1", torch.ones(9, dtype=torch.bool))
    assert set(phase.streams) == {"labelled"}
    method.partition = method._select(torch.randn(9, 3), torch.randn(9, 3))[1]
    terms = method.train().step("net1", first_batches(samples, phase, 8), Clock(1), torch.Generator())
    assert set(terms) == {"labelled", "prior"}


def test_unlabelled_images_are_never_trusted() -> None:
    labels = LABELS.clone()
    labels[[1, 2]] = UNLABELLED
    method = make(tiny_samples(30, labels=labels))
    for phase in phases_of(method, *logits()):
        assert {1, 2} <= set(phase.streams["unlabelled"].indices.tolist())
    assert method.partition is not None
    assert method.partition.closed[[1, 2]].all()
    assert (method.partition.corrected >= 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_of_one_sample(classes: int) -> None:
    labels = torch.zeros(16, dtype=torch.long)
    labels[5] = classes - 1
    trainer = tiny_trainer(tiny_samples(16, classes, labels=labels), "unicon", batch_size=8, epochs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all(math.isfinite(record["loss"]) for record in trainer.run().history)


def test_a_trained_method_loads_without_labels() -> None:
    samples = tiny_samples(30)
    trainer = tiny_trainer(samples, "unicon", epochs=2)
    trainer.run()
    task = tiny_task(samples)
    bare = Unicon(trainer.method.settings, Task(torch.empty(0, dtype=torch.long), 3, task.build_backbone))
    bare.load_state_dict(trainer.method.state_dict())
    bare.load_extra_state(trainer.method.extra_state())
    images = torch.randn(4, 1, 8, 8)
    out, expected = bare.eval().predict(images), trainer.method.eval().predict(images)
    assert torch.allclose(out.logits, expected.logits, atol=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"warmup_epochs": -1},
        {"ramp_epochs": -1},
        {"sharpening": 0.0},
        {"mixup": -1.0},
        {"unlabelled_weight": -1.0},
        {"divergence_limit": -0.1},
        {"correction": 0.5},
        {"unlabelled_batch": -1.0},
        {"contrastive_weight": -1.0},
        {"temperature": 0.0},
        {"embedding_size": 0},
        {"hidden": 0},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        UniconSettings(**wrong)


def test_settings_at_their_ends_are_allowed_and_published_by_default() -> None:
    settings = UniconSettings(divergence_limit=0.0, correction=1.0, unlabelled_batch=0.0, contrastive_weight=0.0)
    assert (settings.divergence_limit, settings.correction) == (0, 1)
    usual = UniconSettings()
    assert (usual.contrastive_weight, usual.temperature, usual.unlabelled_weight) == (0.025, 0.05, 30)
