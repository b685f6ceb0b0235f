"""CIR+: the three sets, the step against a slow reference, its switches, and the two-headed prediction."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples, tiny_task

from lond.errors import ConfigError
from lond.losses import draw_mix, mix_inputs
from lond.methods import CirPlus, CirPlusSettings
from lond.types import UNLABELLED, Clock, Samples

SMALL: dict[str, Any] = {"warmup_epochs": 0, "iterations": 0, "hidden": 16, "ramp_epochs": 0}


def noisy(count: int = 40, classes: int = 3) -> Samples:
    """Every fifth label is the next class's."""
    labels = torch.arange(count) % classes
    labels[::5] = (labels[::5] + 1) % classes
    return tiny_samples(count, classes, labels=labels)


def cir(samples: Samples, **changes: Any) -> CirPlus:
    method = tiny_method(samples, "cir-plus", CirPlusSettings(**(SMALL | changes)))
    assert isinstance(method, CirPlus)
    return method


def heads(method: CirPlus, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax of the classifier and positives of the bank, by hand."""
    out = method.net(images)
    pairs = method.bank(out.features).reshape(len(images), -1, 2).softmax(dim=2)
    return out.logits.softmax(dim=1), pairs[..., 1]


def test_the_three_sets_and_the_verdicts() -> None:
    samples = noisy(60)
    method = cir(samples, confidence=0.4, small_loss_share=0.1)
    survey = survey_of(method, samples)
    for _ in range(30):  # running statistics that let the predictions of an untrained network differ
        survey(lambda images: (method.net.train()(images).logits,))
    p, b = survey(lambda images: heads(method, images))
    (phase,) = method.before_epoch(0, survey)
    labels = samples.labels
    own, top = p[torch.arange(60), labels], p.max(dim=1)
    small = set()
    for label in range(3):
        mine = (labels == label).nonzero().squeeze(1)
        small |= set(mine[own[mine].argsort(descending=True)[: int(0.1 * len(mine))]].tolist())
    counts = [sum(1 for i in range(60) if top.indices[i] == c and top.values[i] > 0.4) for c in range(3)]
    assert max(counts) and len(set(counts)) > 1
    limits = [0.4 * count / max(counts) for count in counts]
    clean = {i for i in range(60) if b[i].argmax() == labels[i]} | small
    confident = {i for i in range(60) if top.indices[i] == labels[i] and own[i] > limits[labels[i]]} | small
    assert phase.streams["clean"].indices.tolist() == sorted(clean)
    assert phase.streams["rest"].indices.tolist() == sorted(set(range(60)) - clean)
    assert phase.streams["confident"].indices.tolist() == sorted(confident)
    assert phase.lead == len(clean)
    assert {stream.share for stream in phase.streams.values()} == {phase.share} == {0.5}
    found = method.partition
    assert found is not None
    assert found.clean.any() and found.closed.any() and found.open.any()
    for i in range(60):
        denied = bool(b[i, top.indices[i]] < 0.5)
        assert [bool(x[i]) for x in (found.clean, found.closed, found.open)] == [
            i in clean, i not in clean and not denied, i not in clean and denied,
        ]  # fmt: skip
        wanted = int(labels[i] if i in clean else top.indices[i])
        assert found.corrected[i] == wanted
        assert found.weights[i].item() == pytest.approx(b[i, wanted].item(), abs=1e-5)


def test_a_fixed_number_of_steps() -> None:
    samples = noisy()
    (fixed,) = (method := cir(samples, iterations=7)).before_epoch(0, survey_of(method, samples))
    assert fixed.steps == 7
    (one_pass,) = (method := cir(samples)).before_epoch(0, survey_of(method, samples))
    assert one_pass.steps == 0


def rotation_losses(method: CirPlus, images: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of the turns of every image, all images at 0 degrees first."""
    losses = []
    for turns in range(4):
        turned = images
        for _ in range(turns):
            turned = turned.transpose(2, 3).flip(2)
        rows = method.rotation(method.net(turned).features).log_softmax(dim=1)
        losses.append(-rows[:, turns])
    return torch.cat(losses)


def bank_losses(b: torch.Tensor, labels: torch.Tensor, negatives: list[list[int]]) -> list[float]:
    return [
        -math.log(row[label]) - sum(math.log(1 - row[c]) for c in others)
        for row, label, others in zip(b.tolist(), labels.tolist(), negatives, strict=True)
    ]


def drawn_from(free: list[list[int]], random: torch.Generator) -> list[int]:
    """One class of each row, by the generator's next numbers."""
    drawn = torch.randint(len(free[0]), (len(free), 1), generator=random).squeeze(1).tolist()
    return [row[place] for row, place in zip(free, drawn, strict=True)]


@pytest.mark.parametrize(
    ("negatives", "mixup", "sharpening"), [("hard", 4.0, 0.5), ("random", 0.5, 0.25), ("hard", 0.0, 1.0)]
)
def test_step_equals_the_slow_reference(negatives: str, mixup: float, sharpening: float) -> None:
    samples = noisy(60, 5)
    # Evaluation mode throughout: no row touches another.
    changes = {"unlabelled_weight": 6.0, "binary_weight": 2.0, "rotation_weight": 0.5}
    method = cir(samples, negatives=negatives, mixup=mixup, sharpening=sharpening, **changes).eval()
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    batches = first_batches(samples, phase, 16)
    clean, rest, sure = batches["clean"], batches["rest"], batches["confident"]
    terms = method.step("train", batches, Clock(0), torch.Generator().manual_seed(3))
    with torch.no_grad():
        (p1, b1), (p2, b2) = (heads(method, view) for view in clean.views)
        trust = ((b1.amax(dim=1) + b2.amax(dim=1)) / 2)[:, None]
        blend = (trust * F.one_hot(clean.labels, 5) + (1 - trust) * (p1 + p2) / 2) ** (1 / sharpening)
        targets = blend / blend.sum(dim=1, keepdim=True)
        guesses = sum(heads(method, view)[0] for view in rest.views) ** (1 / sharpening)
        guesses = guesses / guesses.sum(dim=1, keepdim=True)
        rows = 2 * len(clean.labels)
        random = torch.Generator().manual_seed(3)
        mix = draw_mix(rows + 2 * len(rest.labels), mixup, random)
        assert (mix.ratio < 1) == bool(mixup)
        logits = method.net(mix_inputs(torch.cat([*clean.views, *rest.views]), mix)).logits
        wanted = mix_inputs(torch.cat([targets, targets, guesses, guesses]), mix)
        soft = -(wanted * logits.log_softmax(dim=1)).sum(dim=1)
        squared = (wanted - logits.softmax(dim=1)).square().mean(dim=1)
        prior = -(5 * logits.softmax(dim=1).mean(dim=0)).log().mean()
        p, b = heads(method, sure.views[0])
        turned = rotation_losses(method, clean.views[0]), rotation_losses(method, rest.views[0])
        # The two views differ, so it is the first one that is turned.
        assert not torch.allclose(turned[0], rotation_losses(method, clean.views[1]), atol=1e-4)
    torch.testing.assert_close(terms["labelled"].values, soft[:rows])
    torch.testing.assert_close(terms["unlabelled"].values, squared[rows:])
    torch.testing.assert_close(terms["prior"].values, prior.reshape(1))
    torch.testing.assert_close(terms["rotation"].values, turned[0])
    torch.testing.assert_close(terms["rotation_rest"].values, turned[1])
    labels = sure.labels.tolist()
    others = [[c for c in range(5) if c != label] for label in labels]
    hardest = [max(row, key=lambda c, i=i: float(p[i, c])) for i, row in enumerate(others)]
    if negatives == "hard":
        third = drawn_from([[c for c in row if c != h] for row, h in zip(others, hardest, strict=True)], random)
        chosen = [list(pair) for pair in zip(hardest, third, strict=True)]
    else:
        chosen = [[c] for c in drawn_from(others, random)]
    assert len(set(hardest)) > 1
    assert terms["binary"].values.tolist() == pytest.approx(bank_losses(b, sure.labels, chosen), abs=1e-4)
    weights = {name: term.weight for name, term in terms.items()}
    assert weights == {
        "rotation": 0.5, "rotation_rest": 0.5, "labelled": 1.0, "prior": 1.0, "unlabelled": 6.0, "binary": 2.0,
    }  # fmt: skip


@torch.no_grad()
def test_rotation_task_by_hand() -> None:
    method = cir(tiny_samples(12)).eval()
    images = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    got = method._rotation_loss(images)
    assert got.shape == (12,)
    for turns in range(4):
        for i in range(3):
            turned = images[i : i + 1]
            for _ in range(turns):
                turned = turned.transpose(2, 3).flip(2)
            logits = method.rotation(method.net(turned).features)
            expected = F.cross_entropy(logits, torch.tensor([turns])).item()
            assert got[3 * turns + i].item() == pytest.approx(expected, abs=1e-4)
    with pytest.raises(ConfigError, match="square"):
        method._rotation_loss(torch.zeros(2, 1, 8, 6))


def test_switches() -> None:
    samples = noisy()
    for changes, absent in (
        ({"rotation_weight": 0.0}, {"rotation", "rotation_rest"}),
        ({"unlabelled_weight": 0.0}, {"unlabelled"}),
    ):
        method = cir(samples, **changes)
        (phase,) = method.before_epoch(0, survey_of(method, samples))
        terms = method.step("train", first_batches(samples, phase), Clock(0), torch.Generator())
        everything = {"labelled", "prior", "unlabelled", "binary", "rotation", "rotation_rest"}
        assert set(terms) == everything - absent


def test_the_unlabelled_term_rises_after_warmup() -> None:
    samples = noisy()
    method = cir(samples, ramp_epochs=4)
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    batches = first_batches(samples, phase)
    weights = []
    for epoch in (1, 2, 9):
        terms = method.step("train", batches, Clock(epoch), torch.Generator())
        weights.append(terms["unlabelled"].weight)
    assert weights == [7.5, 15.0, 30.0]
    assert "unlabelled" not in method.step("train", batches, Clock(0), torch.Generator())


def test_warmup() -> None:
    samples = noisy(40, 4)
    for penalty in (False, True):
        # The settings name hard negatives, but warm-up has random ones.
        changes: dict[str, Any] = {"negatives": "hard", "binary_weight": 2.0, "rotation_weight": 0.5}
        method = cir(samples, warmup_epochs=1, confidence_penalty=penalty, **changes).eval()
        (phase,) = method.before_epoch(0, survey_of(method, samples))
        assert phase.name == "warm-up" and method.partition is None
        batch = first_batches(samples, phase)["all"]
        terms = method.step("warm-up", {"all": batch}, Clock(0), torch.Generator().manual_seed(3))
        weights = {"cross_entropy": 1.0, "binary": 2.0, "rotation": 0.5} | ({"confidence": 1.0} if penalty else {})
        assert {name: term.weight for name, term in terms.items()} == weights
        with torch.no_grad():
            p, b = heads(method, batch.views[0])
            turned = rotation_losses(method, batch.views[0])
        torch.testing.assert_close(terms["rotation"].values, turned)
        torch.testing.assert_close(terms["cross_entropy"].values, -p[torch.arange(16), batch.labels].log())
        free = [[c for c in range(4) if c != label] for label in batch.labels.tolist()]
        chosen = [[c] for c in drawn_from(free, torch.Generator().manual_seed(3))]
        assert terms["binary"].values.tolist() == pytest.approx(bank_losses(b, batch.labels, chosen), abs=1e-4)
        if penalty:
            torch.testing.assert_close(terms["confidence"].values, (p * p.log()).sum(dim=1))
        sum(term.values.mean() for term in terms.values()).backward()  # type: ignore[union-attr]
        assert all(weight.grad is not None for weight in method.parameters())


def test_every_class_keeps_a_sample() -> None:
    """Of classes too small for 1 % the sample of smallest loss is taken."""
    samples = noisy()
    method = cir(samples)
    with torch.no_grad():
        method.bank.weight.zero_()  # the bank now names class 0 for all
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert samples.labels[phase.streams["clean"].indices].unique().tolist() == [0, 1, 2]


def test_nothing_is_clean() -> None:
    samples = tiny_samples(20, labels=1 + torch.arange(20) % 2)
    method = cir(samples, small_loss_share=0.0)
    with torch.no_grad():
        method.bank.weight.zero_()
    with pytest.warns(UserWarning, match="small_loss_share"):
        (phase,) = method.before_epoch(3, survey_of(method, samples))
    assert phase.name == "warm-up"


def test_everything_is_clean_and_nobody_confident() -> None:
    samples = tiny_samples(20, classes=2, labels=torch.zeros(20, dtype=torch.long))
    method = cir(samples, small_loss_share=0.0, confidence=0.999)
    with torch.no_grad():
        method.bank.weight.zero_()
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    batches = first_batches(samples, phase, 8)
    assert set(batches) == {"clean"}
    terms = method.step("train", batches, Clock(0), torch.Generator())
    assert set(terms) == {"labelled", "prior", "rotation"}


def test_unlabelled_samples_are_the_rest() -> None:
    labels = (torch.arange(40) % 3).index_fill(0, torch.arange(8), UNLABELLED)
    samples = tiny_samples(40, labels=labels)
    method = cir(samples, small_loss_share=1.0)
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    assert phase.streams["rest"].indices.tolist() == list(range(8))
    assert phase.streams["confident"].indices.tolist() == list(range(8, 40))
    assert method.partition is not None and method.partition.corrected.min() >= 0


@torch.no_grad()
def test_prediction_by_hand() -> None:
    method = cir(tiny_samples(12)).eval()
    images = torch.randn(5, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    p, b = heads(method, images)
    out = method.predict(images)
    torch.testing.assert_close(out.probabilities, (p + b.softmax(dim=1)) / 2)
    torch.testing.assert_close(out.scores, 1 - b[torch.arange(5), p.argmax(dim=1)])
    torch.testing.assert_close(out.logits, method.net(images).logits)


def test_it_can_be_built_without_labels() -> None:
    task = tiny_task(tiny_samples(8))
    empty = type(task)(task.labels[:0], task.num_classes, task.build_backbone)
    method = CirPlus(CirPlusSettings(hidden=16), empty).eval()
    assert method.predict(torch.zeros(2, 1, 8, 8)).probabilities.shape == (2, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"warmup_epochs": -1}, {"iterations": -1}, {"ramp_epochs": -1}, {"confidence": 0.0}, {"confidence": 1.0},
        {"small_loss_share": -0.1}, {"small_loss_share": 1.1}, {"negatives": "soft"}, {"sharpening": 0.0},
        {"mixup": -1.0}, {"unlabelled_weight": -1.0}, {"binary_weight": 0.0}, {"rotation_weight": -1.0}, {"hidden": 0},
    ],
)  # fmt: skip
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        CirPlusSettings(**changes)
