"""Any module as a detector's network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from lond.detect import DETECTORS, KNN, Evidence, ModuleNetwork, NoNetworkError, RankFeat
from lond.detect.network import as_network
from lond.errors import ConfigError

OWN_EVIDENCE = ("rankfeat", "open-world")
"""Detectors that need parts which no module gives by itself."""


class Net(nn.Module):
    """Two linear layers side by side and one behind them, batch normalisation and dropout."""

    def __init__(self, softmax: bool = False) -> None:
        super().__init__()
        self.gate, self.body = nn.Linear(12, 8), nn.Linear(12, 8)
        self.norm, self.drop, self.fc = nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 4)
        self.softmax = softmax

    def forward(self, images: Tensor) -> Tensor:
        flat = images.flatten(1)
        logits = self.fc(self.drop(self.norm((self.body(flat) * self.gate(flat).sigmoid()).relu())))
        return logits.softmax(dim=1) if self.softmax else logits


def images(rows: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, 3, 2, 2, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net()


def test_features_are_the_input_of_the_last_layer_in_evaluation_mode(net: Net) -> None:
    found = ModuleNetwork(net).evidence(images(5))
    expected = net.eval()(images(5))
    assert found.features is not None and found.logits is not None
    assert torch.allclose(found.logits, expected) and torch.allclose(net.fc(found.features), expected)
    assert not found.features.requires_grad
    assert torch.allclose(ModuleNetwork(net).evidence(images(5).numpy()).logits, expected)


def test_mode_hooks_and_statistics_are_as_before(net: Net) -> None:
    net.norm.eval()
    before = net.norm.running_mean.clone()
    network = ModuleNetwork(net)
    network.evidence(images(5))
    assert net.training and not net.norm.training and net.drop.training
    assert torch.equal(net.norm.running_mean, before)
    assert not any(layer._forward_hooks for layer in net.modules())
    assert torch.equal(network.head(torch.ones(2, 8)), net.fc(torch.ones(2, 8)))


@pytest.mark.parametrize("name", [name for name in DETECTORS if name not in OWN_EVIDENCE])
def test_every_detector_wraps_a_module(name: str, net: Net) -> None:
    labels = ModuleNetwork(net).evidence(images(64)).logits.argmax(dim=1)
    loader = DataLoader(TensorDataset(images(64), labels), batch_size=16)
    scores = DETECTORS[name](net).fit(loader).score(images(5, 1))
    assert scores.shape == (5,) and scores.isfinite().all()


def test_it_is_what_the_evidence_gives(net: Net) -> None:
    network, queries = ModuleNetwork(net), images(5, 1)
    by_evidence = KNN(k=3).fit_features(network.evidence(images(20))).score_features(network.evidence(queries))
    assert torch.equal(KNN(net, k=3).fit([(images(20), torch.zeros(20))]).score(queries), by_evidence)


def test_a_layer_by_name(net: Net) -> None:
    network = ModuleNetwork(Net(softmax=True), last="fc")
    assert network.evidence(images(3)).features.shape == (3, 8)
    assert KNN(network, k=1).fit([(images(9), torch.zeros(9))]).score(images(2)).shape == (2,)
    with pytest.raises(ConfigError, match="no linear layer 'head'; it has: gate, body, fc"):
        ModuleNetwork(net, last="head")


def test_refusals(net: Net) -> None:
    with pytest.raises(ConfigError, match="does not return what its last linear layer gives.*last=NAME"):
        KNN(Net(softmax=True)).score(images(2))
    with pytest.raises(ConfigError, match="has no linear layer, and detectors"):
        KNN(nn.Sequential(nn.Conv2d(3, 4, 2), nn.Flatten()))
    with pytest.raises(ConfigError, match="one vector per image"):
        KNN(nn.Linear(2, 4)).score(images(2))
    with pytest.raises(ConfigError, match="found with the first images"):
        ModuleNetwork(net).head(torch.ones(1, 8))
    with pytest.raises(NoNetworkError, match="maps of its last two blocks"):
        RankFeat(net).score(images(2))
    with pytest.raises(NoNetworkError, match="what follows"):
        ModuleNetwork(net).finish(0, images(2))


def test_a_network_of_ones_own_is_kept() -> None:
    class Own(nn.Module):
        def evidence(self, images: Tensor, *, maps: bool = False) -> Evidence:
            return Evidence(images.flatten(1))

    own: Any = Own()
    assert as_network(own) is own and as_network(None) is None
    assert KNN(own, k=1).fit([(images(4), torch.zeros(4))]).score(images(4)).max() < 1e-6


def test_scores_of_numpy_images(net: Net) -> None:
    detector = KNN(net, k=2).fit([(images(9), torch.zeros(9))])
    array: Any = np.asarray(images(3, 1))
    assert torch.equal(detector.score(array), detector.score(images(3, 1)))
