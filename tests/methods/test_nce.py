"""NCE: divisions, corrections, the step against a slow reference, and its switches."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task

from lond.errors import ConfigError
from lond.identify import correct_labels, verify_labels
from lond.losses import draw_mix, mix_inputs
from lond.methods import Nce, NceSettings
from lond.types import UNLABELLED, Batch, Clock, Samples

SMALL: dict[str, Any] = {"warmup_epochs": 0, "neighbours": 4, "hidden": 16, "pool_per_neighbour": 0}


def noisy(count: int = 30, classes: int = 3) -> Samples:
    """Every fifth label is the next class's."""
    labels = torch.arange(count) % classes
    labels[::5] = (labels[::5] + 1) % classes
    return tiny_samples(count, classes, labels=labels)


def nce(samples: Samples, **changes: Any) -> Nce:
    method = tiny_method(samples, "nce", NceSettings(**(SMALL | changes)))
    assert isinstance(method, Nce)
    return method


def outputs(method: Nce, samples: Samples) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Features and logits of either network, in evaluation mode."""

    def describe(images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, second = method.net(0)(images), method.net(1)(images)
        return first.features, first.logits, second.features, second.logits

    a, b, c, d = survey_of(method, samples)(describe)
    return [(a, b), (c, d)]


def doubts_of(method: Nce, samples: Samples) -> list[torch.Tensor]:
    return [
        verify_labels(F.normalize(v, dim=1), o.softmax(dim=1), samples.labels, 4) for v, o in outputs(method, samples)
    ]


def median_threshold(method: Nce, samples: Samples) -> float:
    return float(torch.stack(doubts_of(method, samples)).median())


def test_each_network_trains_on_the_others_division() -> None:
    samples = noisy()
    threshold = median_threshold(nce(samples), samples)
    method = nce(samples, verify_threshold=threshold, correct_threshold=0.0)
    doubts = doubts_of(method, samples)
    for phase, doubt in zip(method.before_epoch(0, survey_of(method, samples)), reversed(doubts), strict=True):
        clean = doubt < threshold
        assert phase.streams["clean"].indices.tolist() == clean.nonzero().squeeze(1).tolist()
        assert phase.streams["rest"].indices.tolist() == (~clean).nonzero().squeeze(1).tolist()
        assert phase.lead == max(int(clean.sum()), int((~clean).sum()))
        assert phase.share == phase.streams["clean"].share == phase.streams["rest"].share == 0.5
        assert phase.streams["rest"].views == ("strong",)
        assert method.division is not None
        torch.testing.assert_close(method.division.trust, 1 - doubt)
        assert not method.division.kept.any()
    assert method.partition is not None
    mean = (doubts[0] + doubts[1]) / 2
    assert torch.equal(method.partition.clean, mean < threshold)
    # Nothing is corrected, so nothing is called unusable.
    assert torch.equal(method.partition.closed, ~method.partition.clean)


def test_corrections_come_from_the_trusted_pool_and_follow_the_networks() -> None:
    samples = noisy(40)
    threshold = median_threshold(nce(samples), samples)
    settings = {"verify_threshold": threshold, "correct_threshold": 0.6, "pool_trust": 0.0}
    method = nce(samples, **settings)
    seen = []
    doubts = doubts_of(method, samples)
    for index, _ in enumerate(method.before_epoch(0, survey_of(method, samples))):
        (v1, o1), (v2, o2) = outputs(method, samples)
        features, probabilities = F.normalize(v1 + v2, dim=1), (o1 + o2).softmax(dim=1)
        clean = doubts[1 - index] < threshold
        found = correct_labels(features[~clean], probabilities[~clean], features[clean], samples.labels[clean], 4)
        division = method.division
        assert division is not None
        assert torch.equal(division.pseudo[~clean], found.labels)
        assert torch.equal(division.kept[~clean], found.divergences <= 0.6)
        assert not division.kept[clean].any()
        seen.append(division)
        with torch.no_grad():  # as if the phase had trained the first network
            method.net(0).last.weight.add_(0.5 * torch.randn_like(method.net(0).last.weight))
    assert not torch.equal(seen[0].belief, seen[1].belief)


def test_verdicts_of_unusable_and_corrected_samples() -> None:
    samples = noisy(40)
    threshold = median_threshold(nce(samples), samples)
    loose = nce(samples, verify_threshold=threshold, pool_trust=0.0, correct_threshold=1.0)
    next(iter(loose.before_epoch(0, survey_of(loose, samples))))
    assert loose.partition is not None and not loose.partition.open.any()
    strict = float((1 - loose.partition.weights[~loose.partition.clean]).median())
    method = nce(samples, verify_threshold=threshold, pool_trust=0.0, correct_threshold=strict)
    next(iter(method.before_epoch(0, survey_of(method, samples))))
    found = method.partition
    assert found is not None
    assert found.open.any() and found.closed.any()
    assert (found.clean.long() + found.closed.long() + found.open.long() == 1).all()
    assert (1 - found.weights[found.closed]).max() <= strict + 1e-6 < (1 - found.weights[found.open]).min() + 2e-6
    assert torch.equal(found.corrected[found.clean], samples.labels[found.clean])


@pytest.mark.parametrize("changes", [{"pool_per_neighbour": 99}, {"pool_trust": 0.999}, {"correct_threshold": 0.0}])
def test_no_correction_without_a_pool(changes: dict[str, Any]) -> None:
    samples = noisy(40)
    threshold = median_threshold(nce(samples), samples)
    base = {"verify_threshold": threshold, "pool_trust": 0.0, "correct_threshold": 1.0}
    for settings, expected in ((base, True), (base | changes, False)):
        method = nce(samples, **settings)
        next(iter(method.before_epoch(0, survey_of(method, samples))))
        assert method.division is not None
        assert bool(method.division.kept.any()) is expected


@pytest.mark.parametrize(
    ("strong_labelled", "mixup", "sharpening"),
    [(False, 4.0, 0.5), (True, 4.0, 0.5), (False, 0.5, 0.25), (True, 0.0, 1.0)],
)
def test_step_equals_the_slow_reference(strong_labelled: bool, mixup: float, sharpening: float) -> None:
    samples = noisy(40)
    threshold = median_threshold(nce(samples), samples)
    changes = {"verify_threshold": threshold, "pool_trust": 0.0, "correct_threshold": 0.6}
    changes |= {"mixup": mixup, "sharpening": sharpening}
    method = nce(samples, strong_labelled=strong_labelled, **changes)
    phase = next(iter(method.before_epoch(0, survey_of(method, samples))))
    batches = first_batches(samples, phase, 16)
    division, net = method.division, method.net(0)
    assert division is not None
    net.train = lambda mode=True: net  # type: ignore[method-assign]  # keep evaluation mode: rows do not touch
    terms = method.step("net1", batches, Clock(0), torch.Generator().manual_seed(3))
    clean, rest = batches["clean"], batches["rest"]
    assert len(clean.views) == (3 if strong_labelled else 2)
    with torch.no_grad():
        views = [net(view).logits.softmax(dim=1) for view in clean.views[:2]]
        trust = division.trust[clean.indices][:, None]
        blend = trust * F.one_hot(clean.labels, 3) + (1 - trust) * (views[0] + views[1]) / 2
        powers = blend ** (1 / sharpening)
        targets = powers / powers.sum(dim=1, keepdim=True)
        mix = draw_mix(2 * len(clean.labels), mixup, torch.Generator().manual_seed(3))
        assert (mix.ratio < 1) == bool(mixup)
        logits = net(mix_inputs(torch.cat(clean.views[:2]), mix)).logits
        wanted = mix_inputs(torch.cat([targets, targets]), mix)
        torch.testing.assert_close(terms["labelled"].values, -(wanted * logits.log_softmax(dim=1)).sum(dim=1))
        prior = -(3 * logits.softmax(dim=1).mean(dim=0)).log().mean()
        torch.testing.assert_close(terms["prior"].values, prior.reshape(1))
        expected = [
            float(F.cross_entropy(row, division.pseudo[index])) if division.kept[index] else 0.0
            for row, index in zip(net(rest.views[0]).logits, rest.indices, strict=True)
        ]
        if strong_labelled:
            expected += F.cross_entropy(net(clean.views[2]).logits, clean.labels, reduction="none").tolist()
    assert terms["consistency"].values.tolist() == pytest.approx(expected, abs=1e-5)
    assert all(term.weight == 1.0 for term in terms.values())


def test_only_one_network_gets_gradients() -> None:
    samples = noisy()
    method = nce(samples, verify_threshold=1.0)
    phases = method.before_epoch(0, survey_of(method, samples))
    for index, phase in enumerate(phases):
        method.zero_grad()
        terms = method.step(phase.name, first_batches(samples, phase), Clock(0), torch.Generator())
        sum(term.values.mean() for term in terms.values()).backward()  # type: ignore[union-attr]
        assert all(weight.grad is not None for weight in method.net(index).parameters())
        assert all(weight.grad is None for weight in method.net(1 - index).parameters())


def test_warmup_and_its_penalty() -> None:
    samples = noisy()
    for penalty in (False, True):
        method = nce(samples, warmup_epochs=1, confidence_penalty=penalty)
        phases = list(method.before_epoch(0, survey_of(method, samples)))
        assert [phase.name for phase in phases] == ["warm-up net1", "warm-up net2"]
        batch = first_batches(samples, phases[1])["all"]
        terms = method.train().step("warm-up net2", {"all": batch}, Clock(0), torch.Generator())
        assert set(terms) == ({"cross_entropy", "confidence"} if penalty else {"cross_entropy"})
        assert all(term.weight == 1 for term in terms.values())
        with torch.no_grad():
            rows = method.net(1)(batch.views[0]).logits.double().softmax(dim=1).tolist()
        expected = [-math.log(row[label]) for row, label in zip(rows, batch.labels.tolist(), strict=True)]
        assert terms["cross_entropy"].values.tolist() == pytest.approx(expected, abs=1e-5)
        if penalty:
            entropies = [sum(p * math.log(p) for p in row) for row in rows]
            assert terms["confidence"].values.tolist() == pytest.approx(entropies, abs=1e-5)


def test_everything_is_clean() -> None:
    """Then there is no consistency term, unless strong views of clean samples are asked for."""
    samples = tiny_samples(20, classes=2)
    for strong_labelled in (False, True):
        method = nce(samples, verify_threshold=1.0, neighbours=99, strong_labelled=strong_labelled)
        for phase in method.before_epoch(0, survey_of(method, samples)):
            batches = first_batches(samples, phase, 8)
            assert set(batches) == {"clean"}
            terms = method.step(phase.name, batches, Clock(0), torch.Generator())
            assert ("consistency" in terms) is strong_labelled


def test_nothing_is_clean() -> None:
    samples = noisy()
    method = nce(samples, verify_threshold=1e-6)
    with pytest.warns(UserWarning, match="verify_threshold"):
        phases = list(method.before_epoch(5, survey_of(method, samples)))
    assert [phase.name for phase in phases] == ["warm-up net1", "warm-up net2"]
    assert method.partition is None


def test_two_clean_samples_are_enough_and_the_threshold_itself_is_not_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = noisy()
    doubts = torch.ones(len(samples))
    doubts[:3] = torch.tensor([0.125, 0.25, 0.5])
    for threshold, names in ((0.5, ["net1", "net2"]), (0.25, ["warm-up net1", "warm-up net2"])):
        method = nce(samples, verify_threshold=threshold)
        monkeypatch.setattr(method, "_doubts", lambda *_: doubts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [phase.name for phase in method.before_epoch(0, survey_of(method, samples))] == names


def test_unlabelled_samples_are_never_clean_but_may_be_corrected() -> None:
    labels = torch.arange(40) % 3
    labels[:6] = UNLABELLED
    samples = tiny_samples(40, labels=labels)
    method = nce(samples, verify_threshold=1.0, correct_threshold=1.0, pool_trust=0.0)
    phase = next(iter(method.before_epoch(0, survey_of(method, samples))))
    assert phase.streams["rest"].indices.tolist() == list(range(6))
    assert method.division is not None and method.division.kept[:6].all()
    assert method.partition is not None
    assert method.partition.corrected.min() >= 0
    assert method.partition.closed.tolist() == [True] * 6 + [False] * 34


def test_a_step_uses_given_labels_of_clean_rows_only() -> None:
    """Unlabelled rows of the "rest" stream carry a negative label that must not be used."""
    labels = (torch.arange(40) % 3).index_fill(0, torch.arange(10), UNLABELLED)
    samples = tiny_samples(40, labels=labels)
    method = nce(samples, verify_threshold=1.0, correct_threshold=0.5, strong_labelled=True)
    phase = next(iter(method.before_epoch(0, survey_of(method, samples))))
    batches: dict[str, Batch] = first_batches(samples, phase)
    assert (batches["rest"].labels == UNLABELLED).all()
    terms = method.step(phase.name, batches, Clock(0), torch.Generator())
    assert all(term.values.isfinite().all() for term in terms.values())


def test_it_can_be_built_without_labels() -> None:
    task = tiny_task(tiny_samples(8))
    empty = type(task)(task.labels[:0], task.num_classes, task.build_backbone)
    assert Nce(NceSettings(hidden=16), empty).eval().predict(torch.zeros(2, 1, 8, 8)).probabilities.shape == (2, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"warmup_epochs": -1}, {"neighbours": 0}, {"verify_threshold": 0.0}, {"verify_threshold": 1.1},
        {"correct_threshold": -0.1}, {"correct_threshold": 2.0}, {"pool_trust": 1.0}, {"pool_per_neighbour": -1},
        {"sharpening": 0.0}, {"mixup": -1.0}, {"hidden": 0},
    ],
)  # fmt: skip
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        NceSettings(**changes)
