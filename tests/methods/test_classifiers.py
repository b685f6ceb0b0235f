"""What methods around one or two classifiers share."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from methods.tiny import tiny_samples, tiny_task

from lond.errors import ConfigError
from lond.methods.classifiers import (
    ClassifierSettings,
    PairMethod,
    build_classifier,
    members,
    one_hot,
    whole_set,
)
from lond.types import Batch, Clock, Term


class Pair(PairMethod):
    def before_epoch(self, epoch, survey):
        return []

    def step(self, phase: str, batches: dict[str, Batch], clock: Clock, random: torch.Generator) -> dict[str, Term]:
        return {}


def pair() -> Pair:
    task = tiny_task(tiny_samples(12))
    return Pair(build_classifier(ClassifierSettings(hidden=16), task) for _ in range(2))


def test_two_networks_differ_and_predict_by_their_sum() -> None:
    method = pair().eval()
    images = torch.randn(5, 1, 8, 8)
    first, second = method.both_logits(images)
    assert not torch.allclose(first, second)
    out = method.predict(images)
    assert torch.allclose(out.logits, first + second)
    assert torch.allclose(out.probabilities, F.softmax(first + second, dim=1))
    assert torch.allclose(out.scores, 1 - out.probabilities.max(dim=1).values, atol=1e-6)
    assert out.features.shape == (5, 32)


def test_a_phase_trains_one_network_while_the_other_rests() -> None:
    method = pair().train()
    for phase, index in (("net1", 0), ("net2", 1), ("warm-up net2", 1)):
        own, peer = method.own_and_peer(phase)
        assert own is method.net(index)
        assert peer is method.net(1 - index)
        assert own.training
        assert not peer.training


def test_the_opened_pair_sums_its_halves() -> None:
    method = pair().eval()
    images = torch.randn(4, 1, 8, 8)
    with torch.no_grad():
        network = method.network()
        evidence = network.evidence(images, maps=True)
        logits = method.predict(images).logits
        assert torch.allclose(evidence.logits, logits, atol=1e-5)
        assert torch.allclose(network.head(evidence.features), logits, atol=1e-5)
        assert evidence.maps is not None
        for block, maps in enumerate(reversed(evidence.maps)):
            assert torch.allclose(network.finish(block, maps), logits, atol=1e-4)
    assert network.evidence(images).maps is None


def test_walks_and_masks() -> None:
    labels = torch.tensor([0, -2, 1, 1])
    phase = whole_set("x", labels, ("weak", "strong"))
    assert phase.streams["all"].indices.tolist() == [0, 2, 3]
    assert (phase.lead, phase.streams["all"].views) == (3, ("weak", "strong"))
    assert members(labels == 1).tolist() == [2, 3]
    assert members(labels == 7).tolist() == []
    assert one_hot(torch.tensor([1, 0]), 2).tolist() == [[0, 1], [1, 0]]
    assert [phase.name for phase in pair().warmup_phases(labels)] == ["warm-up net1", "warm-up net2"]


def test_a_head_without_width_is_refused() -> None:
    with pytest.raises(ConfigError, match="hidden"):
        ClassifierSettings(hidden=0)
