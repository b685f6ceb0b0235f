"""Opened networks: what detectors see is what the method says, from the image and from every place it is opened at."""

from __future__ import annotations

import pytest
import torch
from methods.tiny import tiny_lond, tiny_method, tiny_samples
from torch import Tensor, nn

from lond.detect import MSP, NoNetworkError, OpenWorld, RankFeat, ReAct
from lond.losses import prototype_logits
from lond.methods import METHODS, LondDrs, Method, StandardSettings, Task
from lond.methods.for_detectors import OpenedClassifier, OpenedDual, OpenedPair, has_maps
from lond.nets import build_backbone

NAMES = sorted(METHODS)


def spread(method: Method) -> Method:
    """Give every layer a state of its own, as training would, so that no part is the identity by chance."""
    random = torch.Generator().manual_seed(3)
    for module in method.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.copy_(0.1 * torch.randn(module.num_features, generator=random))
            module.running_var.copy_(0.5 + torch.rand(module.num_features, generator=random))
    return method.eval()


def images(count: int = 6, side: int = 16) -> Tensor:
    return torch.randn(count, 1, side, side, generator=torch.Generator().manual_seed(1))


def trained(name: str, *, ready: bool = True) -> Method:
    samples = tiny_samples(12, side=16)
    method = tiny_method(samples, name)
    if isinstance(method, LondDrs) and ready:
        method.net.set_prototypes(torch.randn(3, 8, generator=torch.Generator().manual_seed(2)))
    return spread(method)


def with_own_module(name: str, module: nn.Module) -> Method:
    task = Task(torch.arange(6) % 3, 3, lambda: build_backbone(module, in_channels=1, image_size=(16, 16)))
    method: Method = METHODS[name](METHODS[name].settings_class(), task)
    return method.eval()


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ready", [True, False])
def test_evidence_is_what_the_method_says(name: str, ready: bool) -> None:
    method = trained(name, ready=ready)
    network, x = method.network(), images()
    evidence = network.evidence(x)
    assert evidence.features is not None
    assert evidence.logits is not None
    assert torch.equal(evidence.logits, method.predict(x).logits)
    assert torch.equal(network.head(evidence.features), evidence.logits)
    assert evidence.maps is None
    assert evidence.labels is None
    # Input of the last layer, after its ReLU.
    assert (evidence.features >= 0).all()
    assert (evidence.features > 0).any()


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
def test_the_network_goes_on_from_its_maps(name: str) -> None:
    method = trained(name)
    network, x = method.network(), images()
    evidence = network.evidence(x, maps=True)
    assert evidence.logits is not None
    assert evidence.maps is not None
    earlier, last = evidence.maps
    assert earlier.shape[2:] == (4, 4)
    nets = 2 if isinstance(network, OpenedPair) else 1
    assert last.shape == (6, 16 * nets, 2, 2)
    assert torch.equal(network.finish(0, last), evidence.logits)
    assert torch.equal(network.finish(1, earlier), evidence.logits)
    # Both really depend on the maps, and leave them as they are.
    before = earlier.clone(), last.clone()
    assert not torch.allclose(network.finish(0, last * 2), evidence.logits)
    assert not torch.allclose(network.finish(1, earlier * 2), evidence.logits)
    assert torch.equal(earlier, before[0])
    assert torch.equal(last, before[1])


@torch.no_grad()
def test_a_linear_head_reads_the_backbone_itself() -> None:
    samples = tiny_samples(12, side=16)
    method = spread(tiny_method(samples, "standard", StandardSettings(head="linear")))
    network, x = method.network(), images()
    evidence = network.evidence(x, maps=True)
    assert evidence.maps is not None
    assert torch.equal(evidence.features, evidence.maps[1].flatten(1))
    assert torch.equal(network.finish(0, evidence.maps[1]), method.predict(x).logits)
    assert torch.equal(network.finish(1, evidence.maps[0]), method.predict(x).logits)


@torch.no_grad()
def test_class_scores_before_and_after_the_prototypes() -> None:
    method = spread(tiny_lond(tiny_samples(12, side=16)))
    assert isinstance(method, LondDrs)
    network, x = method.network(), images()
    assert isinstance(network, OpenedDual)
    before = network.evidence(x)
    assert torch.equal(before.class_scores, before.logits)
    method.net.set_prototypes(torch.randn(3, 8, generator=torch.Generator().manual_seed(2)))
    after = network.evidence(x)
    assert after.class_scores is not None
    assert after.embeddings is not None
    assert torch.allclose(after.embeddings.norm(dim=1), torch.ones(6))
    assert torch.equal(after.embeddings, method.net(x).embedding)
    expected = prototype_logits(after.embeddings, method.net.unit_prototypes(), method.settings.temperature)
    assert torch.equal(after.class_scores, expected)
    assert not torch.allclose(after.class_scores, before.class_scores)
    assert torch.equal(after.logits, before.logits)


@torch.no_grad()
@pytest.mark.parametrize("ready", [True, False])
def test_open_world_is_the_methods_own_score(ready: bool) -> None:
    method, x = trained("lond-drs", ready=ready), images(40)
    scores = OpenWorld(method.network()).score(x)
    assert torch.allclose(scores, method.predict(x).scores, atol=1e-6)
    assert scores.std() > 0


@torch.no_grad()
def test_msp_is_the_standard_methods_own_score() -> None:
    method, x = trained("standard"), images(40)
    assert isinstance(method.network(), OpenedClassifier)
    assert torch.equal(MSP(method.network()).score(x), method.predict(x).scores)
    evidence = method.network().evidence(x)
    assert evidence.class_scores is None
    assert evidence.embeddings is None


class Own(nn.Module):
    """A module of the user's own, with features or maps."""

    def __init__(self, pooled: bool) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 5, 3), nn.ReLU())
        self.pooled = pooled

    def forward(self, x: Tensor) -> Tensor:
        maps: Tensor = self.layers(x)
        return maps.amax(dim=(2, 3)) if self.pooled else maps


@torch.no_grad()
@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_module_of_ones_own_has_no_maps_but_all_the_rest(name: str, pooled: bool) -> None:
    method, x = with_own_module(name, Own(pooled)), images()
    network = method.network()
    evidence = network.evidence(x)
    assert torch.equal(evidence.logits, method.predict(x).logits)
    with pytest.raises(NoNetworkError, match="backbone (Own|PooledBackbone) does not give the maps of its last two"):
        network.evidence(x, maps=True)
    with pytest.raises(NoNetworkError, match="does not give the maps"):
        RankFeat(network).score(x)
    assert ReAct(network).fit_features(evidence).score(x).isfinite().all()


def test_who_has_maps() -> None:
    for name in ("seven-layer", "efficientnet-lite0"):
        assert has_maps(build_backbone(name, in_channels=3, image_size=(32, 32)).module)
    assert not has_maps(nn.Linear(2, 2))


@pytest.mark.parametrize("name", NAMES)
def test_the_head_takes_features_from_another_device(name: str) -> None:
    """Evidence is kept on the CPU while the network may be elsewhere; "meta" stands for a GPU here."""
    method = trained(name)
    features = method.network().evidence(images()).features
    assert features is not None
    logits = method.to("meta").network().head(features)
    assert (logits.device.type, logits.shape) == ("meta", (6, 3))
