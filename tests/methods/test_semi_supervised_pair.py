"""What DivideMix and UNICON share: the two streams, the two targets, and whose turn it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from methods.tiny import first_batches, tiny_samples, tiny_task
from torch import Tensor

from lond.errors import ConfigError
from lond.methods.base import Survey
from lond.methods.semi_supervised_pair import SemiSupervisedPair, SemiSupervisedPairSettings, warn_nothing_is_clean
from lond.types import Clock, Phase

SAMPLES = tiny_samples(24)


class Half(SemiSupervisedPair):
    """Trusts all labels half."""

    views = ("weak", "weak")

    def trust(self, phase: str) -> Tensor:
        return torch.full((24,), 0.5)

    def before_epoch(self, epoch: int, survey: Survey) -> list[Phase]:
        return [self.divided_phase("net1", torch.arange(24) < 16)]


def make(**changes: Any) -> Half:
    settings = SemiSupervisedPairSettings(**{"warmup_epochs": 2, "ramp_epochs": 4, "hidden": 16} | changes)
    return Half(settings, tiny_task(SAMPLES))


def test_what_is_not_labelled_is_walked_beside_it() -> None:
    method = make()
    phase = method.divided_phase("net1", torch.arange(24) < 16, unlabelled_share=0.25)
    assert phase.streams["labelled"].indices.tolist() == list(range(16))
    assert phase.streams["unlabelled"].indices.tolist() == list(range(16, 24))
    assert (phase.lead, phase.share, phase.streams["unlabelled"].share) == (16, 0.5, 0.25)
    assert set(method.divided_phase("net1", torch.ones(24, dtype=torch.bool)).streams) == {"labelled"}


@pytest.mark.parametrize("penalty", [False, True])
def test_the_warm_up_is_cross_entropy_of_one_network(penalty: bool) -> None:
    method = make(confidence_penalty=penalty)
    phase = next(iter(method.warmup_phases(SAMPLES.labels)))
    terms = method.step(phase.name, first_batches(SAMPLES, phase), Clock(0), torch.Generator())
    assert set(terms) == {"cross_entropy"} | ({"confidence"} if penalty else set())
    assert method.net(0).training and not method.net(1).training
    sum(term.values.mean() for term in terms.values()).backward()  # type: ignore[union-attr]
    assert all(weight.grad is None for weight in method.net(1).parameters())


@pytest.mark.parametrize(("epoch", "share"), [(2, 0.0), (3, 0.25), (6, 1.0), (9, 1.0)])
def test_the_unlabelled_weight_rises_after_the_warm_up(epoch: int, share: float) -> None:
    method = make(unlabelled_weight=8.0)
    phase = method.before_epoch(epoch, lambda describe: ())[0]
    terms = method.step("net1", first_batches(SAMPLES, phase), Clock(epoch), torch.Generator().manual_seed(0))
    weight = terms["unlabelled"].weight if "unlabelled" in terms else 0.0
    assert weight == pytest.approx(8 * share)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"warmup_epochs": -1}, "warmup_epochs and ramp_epochs must not be negative"),
        ({"ramp_epochs": -1}, "warmup_epochs and ramp_epochs must not be negative"),
        ({"sharpening": 0.0}, "sharpening must be positive"),
        ({"mixup": -1.0}, "mixup and unlabelled_weight must not be negative"),
        ({"unlabelled_weight": -1.0}, "mixup and unlabelled_weight must not be negative"),
        ({"hidden": 0}, "hidden must be at least 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, float], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        SemiSupervisedPairSettings(**wrong)  # type: ignore[arg-type]


def test_an_epoch_without_clean_samples_says_what_to_do() -> None:
    with pytest.warns(UserWarning, match=r"epoch 7: fewer than two samples .*, add epochs, or pray$"):
        warn_nothing_is_clean(7, "pray")
