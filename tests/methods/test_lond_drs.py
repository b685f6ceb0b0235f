"""LOND-DRS: its steps against loops, where gradients go, switches, edges, prediction."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from methods.tiny import first_batches, lond_settings, survey_of, tiny_lond, tiny_samples, tiny_trainer
from reference import lond_drs as ref
from torch import Tensor, nn

from lond.identify import IdentifySettings, identify
from lond.methods import LondDrs, lond_drs
from lond.types import UNLABELLED, Clock, Partition, Phase, Samples

# Against loops


def warmup_phase(method: LondDrs, samples: Samples) -> Phase:
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    return phase


def test_warmup_step_equals_the_loops() -> None:
    method, samples, _ = prepared()
    method.settings = replace(method.settings, warmup_prototype_weight=10.0)
    batches = first_batches(samples, warmup_phase(method, samples), 9)
    terms = method.step("warm-up", batches, Clock(0), seeded())
    batch = batches["all"]
    size, labels = len(batch.labels), batch.labels.tolist()
    mixes = plain_mixes([size, size], 1.0, seeded())
    views = split_views(batch)
    targets = [ref.one_hot(label, CLASSES) for label in labels]
    prototypes = ref.unit_rows(method.net.prototypes.detach().double().numpy())
    forward = black_box(method)
    expected = ref.supervised(forward, views, [[], []], targets, mixes, prototypes, 0.1)
    expected["contrastive"] = ref.contrastive(forward, views, labels, [1.0] * size, mixes, 0.1)
    assert means(terms) == pytest.approx(expected, rel=2e-5)
    assert {name: term.weight for name, term in terms.items()} == {
        "one_vs_all": 1.0,
        "contrastive": 1.0,
        "prototype": 10.0,
    }


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("concentration", [1.0, 0.5, 0.0])
def test_robust_step_equals_the_loops(refine: bool, concentration: float) -> None:
    method, samples, phase = prepared(refine_clean_targets=refine, mixup=concentration)
    assert method.partition is not None
    # Whatever the neighbours voted for: corrected labels that differ from the given ones.
    corrected = torch.where(method.partition.closed, (samples.labels + 1) % CLASSES, samples.labels)
    part = method.partition = replace(method.partition, corrected=corrected)
    assert part.clean.any()
    assert part.closed.any()
    assert part.open.any()
    batches = first_batches(samples, phase, 9)
    assert set(batches) == {"clean", "closed", "trusted", "all"}
    terms = method.step("robust", batches, Clock(2, 1, 4), seeded())

    forward = black_box(method)
    prototypes = ref.unit_rows(method.net.prototypes.detach().double().numpy())
    clean, closed, everything = batches["clean"], batches["closed"], batches["all"]
    clean_views, closed_views = split_views(clean), split_views(closed)
    targets = []
    for row, label in enumerate(clean.labels.tolist()):
        own = [view[row] for view in clean_views]
        refined = ref.clean_target(forward, own, label, prototypes, 0.1, 0.5)
        targets.append(refined if refine else ref.one_hot(label, CLASSES))
    for row, index in enumerate(closed.indices.tolist()):
        own = [view[row] for view in closed_views]
        targets.append(ref.closed_target(forward, own, float(part.weights[index]), prototypes, 0.1, 0.5))
    # The generator gives the mixes of the supervised part first, weak before strong, then those of the all-batch.
    together, every = len(targets), len(everything.labels)
    mixes = plain_mixes([together, together, every, every], concentration, seeded())
    expected = ref.supervised(forward, clean_views, closed_views, targets, mixes[:2], prototypes, 0.1)
    indices = everything.indices
    expected["contrastive"] = ref.contrastive(
        forward,
        split_views(everything),
        part.corrected[indices].tolist(),
        part.weights[indices].tolist(),
        mixes[2:],
        0.1,
    )
    expected["consistency"] = ref.consistency(forward, *split_views(batches["trusted"]))
    assert means(terms) == pytest.approx(expected, rel=3e-5)
    # One epoch and a quarter after a warm-up of one, over a ramp of two.
    assert terms["pseudo_label"].weight == pytest.approx(1.25 / 2)
    assert {name: term.weight for name, term in terms.items() if name != "pseudo_label"} == {
        "one_vs_all": 1.0,
        "prototype": 1.0,
        "consistency": 0.5,
        "contrastive": 0.3,
    }
    # Both views of each row take part.
    assert len(terms["one_vs_all"].values) == len(terms["prototype"].values) == 2 * len(clean.labels)
    assert len(terms["pseudo_label"].values) == 2 * len(closed.labels)
    assert len(terms["contrastive"].values) == 2 * every


def test_streams_hold_what_the_partition_says() -> None:
    method, samples, phase = prepared()
    part = method.partition
    assert part is not None
    wanted = {"clean": part.clean, "closed": part.closed, "trusted": ~part.open, "all": torch.ones_like(part.clean)}
    assert phase.lead == len(samples)
    for name, mask in wanted.items():
        assert phase.streams[name].indices.tolist() == mask.nonzero().squeeze(1).tolist()
        assert phase.streams[name].views == ("weak", "strong")


def test_prototypes_start_at_the_mean_clean_embedding() -> None:
    method, samples, _ = prepared()
    assert method.partition is not None
    embeddings = survey_of(method, samples)(method._describe)[0].double().numpy()
    means = ref.start_prototypes(embeddings, samples.labels.tolist(), method.partition.clean.tolist(), CLASSES)
    assert np.allclose(method.net.prototypes.detach(), ref.unit_rows(means), atol=1e-5)


def test_the_released_program_starts_from_raw_prototypes() -> None:
    method, samples, _ = prepared(details="released")
    assert method.partition is not None
    embeddings = survey_of(method, samples)(method._describe)[0].double().numpy()
    means = ref.start_prototypes(embeddings, samples.labels.tolist(), method.partition.clean.tolist(), CLASSES)
    assert np.allclose(method.net.prototypes.detach(), means, atol=1e-5)
    assert not torch.allclose(method.net.prototypes.norm(dim=1), torch.ones(CLASSES), atol=1e-4)


@pytest.mark.parametrize(("details", "clipped"), [("released", False), ("ours", True)])
def test_only_the_released_program_does_not_clip_the_weights(
    details: str, clipped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, asked = noisy_samples(), []

    def noted(*given: Any, clip_weights: bool) -> Any:
        asked.append(clip_weights)
        return identify(*given, clip_weights=clip_weights)

    monkeypatch.setattr(lond_drs, "identify", noted)
    method = tiny_lond(samples, details=details, warmup_epochs=0)
    method.before_epoch(0, survey_of(method, samples))
    assert asked == [clipped]


@pytest.mark.parametrize(("step", "expected"), [(0, 0.25), (1, 0.25)])
def test_the_ramp_of_the_released_program_rises_once_an_epoch(step: int, expected: float) -> None:
    method, samples, phase = prepared(warmup_epochs=5, ramp_epochs=4, details="released")
    terms = method.step("robust", first_batches(samples, phase), Clock(6, step, 2), seeded())
    assert terms["pseudo_label"].weight == expected


def test_heads_of_the_released_program_start_from_kaimings_weights_and_no_bias() -> None:
    assert all(bool(p.any()) for p in tiny_lond(noisy_samples()).net.ova_head[-1].parameters())
    net = tiny_lond(noisy_samples(), embedding_size=512, details="released").net
    for head in (net.ova_head, net.projection_head):
        layers = [layer for layer in head.modules() if isinstance(layer, nn.Linear)]
        assert len(layers) == 2 and not any(bool(layer.bias.any()) for layer in layers)
    last = net.projection_head[-1]
    assert float(last.weight.detach().std()) == pytest.approx((2 / last.in_features) ** 0.5, rel=0.05)


def test_a_group_of_one_image_shares_the_statistics_of_the_others() -> None:
    method, samples, _ = prepared(details="released")
    method.train()
    images = survey_images(samples)
    alone, others = images[:1], images[1:6]
    assert torch.equal(method._outputs([alone, others]).ova_logits, method.net(images[:6]).ova_logits)
    apart = method._outputs([images[:3], others]).embedding
    assert torch.equal(apart, torch.cat([method.net(images[:3]).embedding, method.net(others).embedding]))


# Gradients


def parts_with_gradient(method: LondDrs, value: Tensor) -> set[str]:
    method.zero_grad(set_to_none=True)
    value.backward()
    net = method.net
    parts = {"backbone": net.backbone, "ova": net.ova_head, "projection": net.projection_head}
    reached = {
        name
        for name, part in parts.items()
        if any(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in part.parameters())
    }
    moved = net.prototypes.grad is not None and bool(net.prototypes.grad.abs().sum() > 0)
    return reached | ({"prototypes"} if moved else set())


ROBUST_GRADIENTS = {
    "one_vs_all": {"backbone", "ova"},
    "prototype": {"backbone", "projection", "prototypes"},
    "pseudo_label": {"backbone", "projection", "prototypes"},
    "consistency": {"backbone", "ova"},
    "contrastive": {"backbone", "projection"},
}


@pytest.mark.parametrize("name", ROBUST_GRADIENTS)
def test_each_term_teaches_its_own_parts(name: str) -> None:
    method, samples, phase = prepared()
    method.train()
    terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
    assert parts_with_gradient(method, terms[name].values.mean()) == ROBUST_GRADIENTS[name]


def test_warmup_leaves_the_prototypes_alone() -> None:
    samples = noisy_samples()
    method = tiny_lond(samples)
    method.train()
    terms = method.step("warm-up", first_batches(samples, warmup_phase(method, samples)), Clock(0), seeded())
    assert set(terms) == {"one_vs_all", "contrastive"}
    total = sum(term.values.mean() for term in terms.values())
    assert parts_with_gradient(method, total) == {"backbone", "ova", "projection"}
    assert method.net.prototypes.grad is None
    assert not bool(method.net.prototypes_ready)


def test_targets_are_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradients are those of a step whose targets are given from outside."""
    method, samples, phase = prepared()
    batches = first_batches(samples, phase)

    def gradients() -> list[Tensor]:
        method.zero_grad(set_to_none=True)
        terms = method.step("robust", batches, Clock(2), seeded())
        sum(term.values.mean() for term in terms.values()).backward()
        return [p.grad.clone() for p in method.parameters() if p.grad is not None]

    original, seen = LondDrs._targets, []

    def recorded(self: LondDrs, *args: Any) -> Tensor:
        seen.append(original(self, *args))
        return seen[-1]

    monkeypatch.setattr(LondDrs, "_targets", recorded)
    expected = gradients()
    assert not seen[0].requires_grad
    assert torch.allclose(seen[0].sum(dim=1), torch.ones(len(seen[0])), atol=1e-5)
    monkeypatch.setattr(LondDrs, "_targets", lambda self, *args: torch.tensor(seen[0].tolist()))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(expected, gradients(), strict=True))


# Switches

SWITCHES: dict[str, tuple[str, str | None, str]] = {
    "one_vs_all_weight": ("one_vs_all", None, "one_vs_all"),
    "prototype_weight": ("prototype", None, "soft_cross_entropy"),
    "pseudo_label_weight": ("pseudo_label", "closed", "pseudo_label_distance"),
    "consistency_weight": ("consistency", "trusted", "one_vs_all_consistency"),
    "contrastive_weight": ("contrastive", "all", "mixed_bi_level_contrastive"),
}


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_weight_of_zero_is_neither_computed_nor_streamed(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    term, stream, function = SWITCHES[switch]
    method, samples, phase = prepared(**{switch: 0.0})
    assert set(phase.streams) == {"clean", "closed", "trusted", "all"} - {stream}

    def refuse(*_: Any, **__: Any) -> Tensor:
        raise AssertionError(f"{function} was called")

    monkeypatch.setattr(lond_drs, function, refuse)
    terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
    assert set(terms) == {"one_vs_all", "prototype", "pseudo_label", "consistency", "contrastive"} - {term}


def test_warmup_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = noisy_samples()
    method = tiny_lond(samples, warmup_contrastive_weight=0.0)
    monkeypatch.delattr(lond_drs, "mixed_bi_level_contrastive")
    monkeypatch.delattr(lond_drs, "soft_cross_entropy")
    terms = method.step("warm-up", first_batches(samples, warmup_phase(method, samples)), Clock(0), seeded())
    assert set(terms) == {"one_vs_all"}


def test_without_refining_or_closed_samples_no_target_pass_is_made() -> None:
    method, samples, phase = prepared(refine_clean_targets=False, pseudo_label_weight=0.0)
    passes: list[int] = []
    method.net.register_forward_hook(lambda _, args, __: passes.append(len(args[0])))
    batches = first_batches(samples, phase)
    method.step("robust", batches, Clock(2), seeded())
    sizes = {name: len(batch.labels) for name, batch in batches.items()}
    assert passes == [2 * sizes["clean"], 2 * sizes["all"], 2 * sizes["trusted"]]


@pytest.mark.parametrize(
    ("clock", "ramp", "expected"),
    [
        (Clock(5), 4, 0.0),
        (Clock(5, 1, 2), 4, 0.125),
        (Clock(7), 4, 0.5),
        (Clock(9), 4, 1.0),
        (Clock(40), 4, 1.0),
        (Clock(5), 0, 1.0),
    ],
)
def test_ramp_by_hand(clock: Clock, ramp: int, expected: float) -> None:
    method, samples, phase = prepared(warmup_epochs=5, ramp_epochs=ramp, pseudo_label_weight=3.0)
    terms = method.step("robust", first_batches(samples, phase), clock, seeded())
    assert terms["pseudo_label"].weight == pytest.approx(3 * expected)


# Edges


def partition_of(clean: Tensor, closed: Tensor, samples: Samples) -> Partition:
    zeros = torch.zeros(len(clean))
    weights = clean.float() + 0.5 * closed.float()
    return Partition(clean, closed, ~clean & ~closed, weights, samples.labels.clamp_min(0), zeros, zeros)


Rule = Callable[[Tensor], tuple[Tensor, Tensor]]
PARTITIONS: dict[str, Rule] = {
    "all clean": lambda i: (i >= 0, i < 0),
    "no open": lambda i: (i < 30, i >= 30),
    "no closed": lambda i: (i < 30, i < 0),
    "one clean": lambda i: (i == 3, i > 20),
    "one clean and nothing else but open": lambda i: (i == 3, i < 0),
    "one closed": lambda i: (i < 30, i == 33),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_odd_partitions_train(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = noisy_samples(33)
    monkeypatch.setattr(
        lond_drs, "identify", lambda *_, **__: partition_of(*PARTITIONS[name](torch.arange(33)), samples=samples)
    )
    trainer = tiny_trainer(samples, epochs=2)
    record = trainer.run().history[-1]
    assert record["phase"] == "robust"
    assert math.isfinite(record["loss"])
    assert ("loss_pseudo_label" in record) == bool(PARTITIONS[name](torch.arange(33))[1].any())


DATA: dict[str, tuple[int, int, list[int]]] = {
    "two classes": (24, 2, [i % 2 for i in range(24)]),
    "a class with one image": (25, 3, [i % 2 for i in range(24)] + [2]),
    "a class with none": (24, 4, [i % 3 for i in range(24)]),
    "unlabelled images": (30, 3, [i % 3 if i % 5 else UNLABELLED for i in range(30)]),
    "a last batch of one": (17, 3, [i % 3 for i in range(17)]),
    "fewer images than a batch": (7, 2, [i % 2 for i in range(7)]),
    "two images": (2, 2, [0, 1]),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("warmup", [0, 1])
def test_odd_data_train(name: str, warmup: int) -> None:
    """k is larger than N everywhere."""
    count, classes, labels = DATA[name]
    samples = tiny_samples(count, classes, labels=torch.tensor(labels), truth=False)
    identify = IdentifySettings(neighbours=200, clean_quantile=1.0)
    trainer = tiny_trainer(samples, settings=lond_settings(warmup_epochs=warmup, identify=identify), epochs=2)
    history = trainer.run().history
    assert [record["phase"] for record in history] == (["warm-up", "robust"] if warmup else ["robust", "robust"])
    assert all(math.isfinite(record["loss"]) for record in history)
    method = trainer.method
    assert method.net.prototypes.isfinite().all()
    assert torch.allclose(method.net.unit_prototypes().norm(dim=1), torch.ones(classes), atol=1e-5)
    probabilities = trainer.predict(samples).probabilities
    assert torch.allclose(probabilities.sum(dim=1), torch.ones(count), atol=1e-5)


def test_unlabelled_images_take_no_part_in_warmup() -> None:
    labels = torch.arange(30) % 3
    labels[::4] = UNLABELLED
    samples = tiny_samples(30, 3, labels=labels)
    method = tiny_lond(samples)
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert phase.streams["all"].indices.tolist() == (labels >= 0).nonzero().squeeze(1).tolist()
    assert phase.lead == int((labels >= 0).sum())
    (phase,) = method.before_epoch(1, survey_of(method, samples))
    assert phase.lead == 30
    assert not method.partition.clean[::4].any()


def test_nothing_clean_warms_up_again_and_says_what_to_do() -> None:
    labels = torch.arange(24) % 2
    samples = tiny_samples(24, 3, labels=labels)
    # The third class has no image, hence an agreement of 0, which is the 0-quantile.
    method = tiny_lond(samples, identify=IdentifySettings(neighbours=5, clean_quantile=0.0))
    with pytest.warns(UserWarning, match=r"settings\.identify\.clean_quantile"):
        (phase,) = method.before_epoch(1, survey_of(method, samples))
    assert phase.name == "warm-up"
    assert method.partition is None
    assert not method.net.prototypes_ready


def test_half_precision_stays_finite() -> None:
    method, samples, phase = prepared()
    method.train()
    with torch.autocast("cpu", torch.bfloat16):
        terms = method.step("robust", first_batches(samples, phase), Clock(2), seeded())
        warm = method.step("warm-up", first_batches(samples, warmup_phase(method, samples)), Clock(0), seeded())
        prediction = method.predict(survey_images(samples))
    for term in (*terms.values(), *warm.values()):
        assert term.values.dtype == torch.float32
        assert term.values.isfinite().all()
    sum(term.values.mean() for term in (*terms.values(), *warm.values())).backward()
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in method.parameters())
    assert prediction.probabilities.dtype == torch.float32


# Prototypes in warm-up (web data)


def test_web_warmup_sets_prototypes_from_class_means_and_never_again() -> None:
    samples = noisy_samples()
    method = tiny_lond(samples, warmup_epochs=2, warmup_prototype_weight=10.0)
    survey = survey_of(method, samples)
    method.before_epoch(0, survey)
    embeddings = survey(method._describe)[0].double().numpy()
    means = ref.start_prototypes(embeddings, samples.labels.tolist(), [True] * len(samples), CLASSES)
    assert np.allclose(method.net.prototypes.detach(), ref.unit_rows(means), atol=1e-5)
    with torch.no_grad():
        method.net.prototypes.add_(0.3)
    learned = method.net.prototypes.detach().clone()
    for epoch in (1, 2, 3):
        method.before_epoch(epoch, survey)
        assert torch.equal(method.net.prototypes, learned)
    assert method.partition is not None


def test_prototypes_are_set_once_at_the_first_identification() -> None:
    method, samples, _ = prepared()
    with torch.no_grad():
        method.net.prototypes.mul_(-1)
    learned = method.net.prototypes.detach().clone()
    method.before_epoch(2, survey_of(method, samples))
    assert torch.equal(method.net.prototypes, learned)


# Prediction


def test_prediction_by_hand() -> None:
    method, samples, _ = prepared()
    images = survey_images(samples)
    with torch.no_grad():
        out = method.predict(images)
    forward = black_box(method)
    prototypes = ref.unit_rows(method.net.prototypes.detach().double().numpy())
    for row, image in enumerate(images.double().numpy()):
        z, logits = forward(image)
        yes = ref.positives(logits)
        nearest = max(range(CLASSES), key=lambda c: float(np.dot(z, prototypes[c])))
        assert out.probabilities[row].tolist() == pytest.approx([p / sum(yes) for p in yes], rel=1e-4)
        assert int(out.probabilities[row].argmax()) == max(range(CLASSES), key=lambda c: yes[c])
        assert float(out.scores[row]) == pytest.approx(1 - yes[nearest], abs=1e-5)
        assert out.logits[row].tolist() == pytest.approx([b - a for a, b in logits], rel=1e-4, abs=1e-4)
    assert torch.allclose(out.probabilities.sum(dim=1), torch.ones(len(samples)))
    assert out.features.shape == (len(samples), 16)


def test_before_there_are_prototypes_the_best_class_stands_in() -> None:
    samples = noisy_samples()
    method = tiny_lond(samples).eval()
    out = method.predict(survey_images(samples))
    best = torch.sigmoid(out.logits).max(dim=1).values
    assert torch.allclose(out.scores, 1 - best, atol=1e-6)


def test_probabilities_sum_to_one_even_where_every_class_says_no() -> None:
    samples = noisy_samples()
    method = tiny_lond(samples).eval()
    with torch.no_grad():
        method.net.ova_head[-1].bias.view(-1, 2)[:, 0] += 80.0
    assert torch.allclose(method.predict(survey_images(samples)).probabilities.sum(dim=1), torch.ones(40))


def test_probabilities_sum_to_one_at_extreme_logits() -> None:
    samples = noisy_samples()
    method = tiny_lond(samples).eval()
    with torch.no_grad():
        method.net.ova_head[-1].bias.view(-1, 2)[:, 0] += 150.0
    assert torch.allclose(method.predict(survey_images(samples)).probabilities.sum(dim=1), torch.ones(40))
