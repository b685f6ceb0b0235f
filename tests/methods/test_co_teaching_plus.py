"""Co-teaching+: the exchange within disagreement against a loop, its edges, and the switch of the released loss."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from methods.tiny import first_batches, survey_of, tiny_method, tiny_samples
from torch import Tensor

from lond.errors import ConfigError
from lond.methods import CoTeachingPlus, CoTeachingPlusSettings
from lond.types import Batch, Clock, Samples, Term

BATCH = Batch(torch.arange(8), torch.tensor([0, 1, 2, 0, 1, 2, 0, 1]), (torch.zeros(8, 1, 8, 8),))


class Scripted(CoTeachingPlus):
    """Networks that say what the test wants."""

    logits: tuple[Tensor, Tensor]

    def both_logits(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits


def scripted(first: Tensor, second: Tensor, **changes: Any) -> Scripted:
    samples = tiny_samples(8)
    plain = tiny_method(samples, "co-teaching-plus", settings(**changes))
    assert isinstance(plain, CoTeachingPlus)
    plain.__class__ = Scripted
    assert isinstance(plain, Scripted)
    plain.logits = first, second
    return plain


def settings(**changes: Any) -> CoTeachingPlusSettings:
    return CoTeachingPlusSettings(**({"noise_rate": 0.5, "ramp_epochs": 0, "initial_epochs": 2} | changes))


def logits_of(classes: list[int], seed: int) -> Tensor:
    """Random logits of which the given class is the largest."""
    random = torch.randn(len(classes), 3, generator=torch.Generator().manual_seed(seed))
    random[torch.arange(len(classes)), torch.tensor(classes)] = random.amax(dim=1) + 0.5
    return random.requires_grad_()


def go(method: CoTeachingPlus, phase: str = "disagreement", clock: Clock | None = None) -> dict[str, Term]:
    return method.step(phase, {"all": BATCH}, clock or Clock(3), torch.Generator())


def losses_by_hand(logits: Tensor, softmax_first: bool = False) -> list[float]:
    out = []
    for row, label in zip(logits.detach().double().tolist(), BATCH.labels.tolist(), strict=True):
        if softmax_first:
            total = math.fsum(map(math.exp, row))
            row = [math.exp(x) / total for x in row]
        out.append(math.log(math.fsum(map(math.exp, row))) - row[label])
    return out


DISPUTED = [0, 2, 3, 6, 7]
FIRST = logits_of([0, 1, 2, 0, 1, 2, 0, 1], seed=1)
SECOND = logits_of([1, 1, 0, 2, 1, 2, 2, 0], seed=2)


@pytest.mark.parametrize("softmax_first", [False, True])
@pytest.mark.parametrize(("rate", "kept"), [(0.0, 5), (0.2, 4), (0.5, 2), (0.7, 1), (0.9, 5)])
def test_exchange_within_disagreement(softmax_first: bool, rate: float, kept: int) -> None:
    """The last case keeps floor(0.1 * 5) = 0, which stands for all."""
    terms = go(scripted(FIRST, SECOND, noise_rate=rate, softmax_before_loss=softmax_first))
    by_hand = [losses_by_hand(logits, softmax_first) for logits in (FIRST, SECOND)]
    picks = [sorted(sorted(DISPUTED, key=losses.__getitem__)[:kept]) for losses in by_hand]
    for name, own, peers in (("net1", by_hand[0], picks[1]), ("net2", by_hand[1], picks[0])):
        assert terms[name].values.tolist() == pytest.approx([own[row] for row in peers], abs=1e-5)


def test_released_loss_is_bounded() -> None:
    """Of 80 classes: 3.40 for a sure and right prediction, 4.38 for an undecided one, 4.40 for a sure and wrong one."""
    logits = torch.zeros(3, 80)
    logits[0, 0] = logits[2, 5] = 1000
    method = scripted(logits, logits, softmax_before_loss=True)
    labels = torch.zeros(3).long()
    released = method._losses("disagreement", (logits, logits), labels)[0]
    assert released.tolist() == pytest.approx([3.40, 4.38, 4.40], abs=6e-3)
    plain = method._losses("exchange", (logits, logits), labels)[0]
    assert plain.tolist() == pytest.approx([0, math.log(80), 1000], abs=1e-3)


def test_the_first_epochs_are_co_teaching() -> None:
    samples = tiny_samples(20)
    plus = tiny_method(samples, "co-teaching-plus", settings(softmax_before_loss=True)).eval()
    plain = tiny_method(samples, "co-teaching").eval()
    plain.settings = plus.settings  # type: ignore[assignment]
    survey = survey_of(plus, samples)
    names = [phase.name for epoch in range(4) for phase in plus.before_epoch(epoch, survey)]
    assert names == ["exchange", "exchange", "disagreement", "disagreement"]
    (phase,) = plus.before_epoch(1, survey)
    batches = first_batches(samples, phase, 12)
    got, expected = (method.step(phase.name, batches, Clock(1), torch.Generator()) for method in (plus, plain))
    assert got.keys() == expected.keys()
    assert all(torch.equal(got[name].values, expected[name].values) for name in got)


def test_disagreement_may_count_from_the_start() -> None:
    samples = tiny_samples(20)
    method = tiny_method(samples, "co-teaching-plus", settings(initial_epochs=0))
    assert [phase.name for phase in method.before_epoch(0, survey_of(method, samples))] == ["disagreement"]


@pytest.mark.parametrize("clock", [Clock(0, 4, 5), Clock(1, 2, 5)])
def test_networks_that_agree_learn_the_whole_batch_at_first(clock: Clock) -> None:
    terms = go(scripted(FIRST, FIRST, whole_batch_steps=8), clock=clock)
    for term in terms.values():
        assert term.values.tolist() == pytest.approx(losses_by_hand(FIRST), abs=1e-5)


@pytest.mark.parametrize(("clock", "limit"), [(Clock(1, 3, 5), 8), (Clock(0), 0)])
def test_later_such_a_batch_is_skipped(clock: Clock, limit: int) -> None:
    """The terms are zeros that still hang on both networks, so every process has the same gradients to average."""
    first, second = (FIRST.detach().clone().requires_grad_() for _ in range(2))
    terms = go(scripted(first, second, whole_batch_steps=limit), clock=clock)
    torch.stack([term.values.mean() for term in terms.values()]).sum().backward()
    for term, logits in zip(terms.values(), (first, second), strict=True):
        assert not term.values.any()
        assert logits.grad is not None
        assert not logits.grad.any()


def test_one_disputed_sample_is_learned() -> None:
    second = FIRST.detach().clone()
    second[4] = torch.tensor([3.0, 0.0, 0.0])
    terms = go(scripted(FIRST, second))
    assert terms["net1"].values.tolist() == pytest.approx([losses_by_hand(FIRST)[4]], abs=1e-5)
    assert terms["net2"].values.tolist() == pytest.approx([losses_by_hand(second)[4]], abs=1e-5)


def test_verdicts_rank_the_whole_batch() -> None:
    """Samples that both networks agree about are judged, too."""
    method = scripted(FIRST, SECOND)
    go(method)
    method.after_epoch(3)
    easy = []
    for logits in (FIRST, SECOND):
        losses = losses_by_hand(logits)
        easy.append(set(sorted(range(8), key=losses.__getitem__)[:4]))
    assert method.partition is not None
    clean = set(method.partition.clean.nonzero().flatten().tolist())
    assert clean == easy[0] & easy[1]
    assert clean - set(DISPUTED)


def learnable(samples: Samples) -> CoTeachingPlus:
    method = tiny_method(samples, "co-teaching-plus", settings(initial_epochs=0)).train()
    assert isinstance(method, CoTeachingPlus)
    return method


@pytest.mark.parametrize("classes", [2, 3])
def test_real_networks_take_the_step(classes: int) -> None:
    samples = tiny_samples(20, classes)
    method = learnable(samples)
    (phase,) = method.before_epoch(0, survey_of(method, samples))
    terms = method.step(phase.name, first_batches(samples, phase), Clock(0), torch.Generator())
    torch.stack([term.values.mean() for term in terms.values()]).sum().backward()
    assert all(parameter.grad is not None for parameter in method.parameters())


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"initial_epochs": -1}, "initial_epochs"),
        ({"whole_batch_steps": -1}, "whole_batch_steps"),
        ({"noise_rate": 1.2}, "noise_rate"),
    ],
)
def test_refused_settings(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        CoTeachingPlusSettings(**changes)
