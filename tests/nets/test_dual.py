"""LOND-DRS's network: counts, outputs, prototypes."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from lond.nets import DualNet, SevenLayerCNN


def _net(classes: int = 5, width: float = 0.125) -> DualNet:
    torch.manual_seed(0)
    backbone = SevenLayerCNN(width=width)
    return DualNet(backbone, backbone.feature_size, classes)


def test_parameter_count_of_the_sheet() -> None:
    assert sum(p.numel() for p in _net(80, 1.0).parameters() if p.requires_grad) == 732_444


def test_shapes_and_unit_embeddings() -> None:
    net = _net()
    out = net(torch.rand(4, 3, 32, 32))
    assert out.features.shape == (4, 256)
    assert out.embedding.shape == (4, 128)
    assert out.ova_logits.shape == (4, 5, 2)
    assert torch.allclose(out.embedding.norm(dim=1), torch.ones(4), atol=1e-6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        out.features = out.embedding


def test_logits_hold_negative_then_positive_of_each_class() -> None:
    net = _net().eval()
    x = torch.rand(2, 3, 32, 32)
    out = net(x)
    flat = net.ova_head(net.backbone(x))
    for c in range(5):
        assert torch.equal(out.ova_logits[:, c, 0], flat[:, 2 * c])
        assert torch.equal(out.ova_logits[:, c, 1], flat[:, 2 * c + 1])


def test_embeddings_are_float32_under_autocast() -> None:
    net = _net()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        embedding = net(torch.rand(4, 3, 32, 32)).embedding
    assert embedding.dtype == torch.float32
    assert torch.allclose(embedding.norm(dim=1), torch.ones(4), atol=1e-6)


def test_gradients_reach_every_parameter() -> None:
    net = _net()
    net.set_prototypes(torch.randn(5, 128))
    out = net(torch.rand(8, 3, 32, 32))
    (out.ova_logits.square().sum() + (out.embedding @ net.unit_prototypes().T).square().sum()).backward()
    missing = [name for name, p in net.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
    assert missing == []
    assert net.prototypes.grad is not None and net.prototypes.grad.abs().sum() > 0


def test_prototypes_are_set_in_place_and_normalised_at_use() -> None:
    net = _net()
    before = net.prototypes
    assert not net.prototypes_ready
    values = 3 * torch.randn(5, 128)
    net.set_prototypes(values)
    assert net.prototypes is before and net.prototypes.requires_grad
    assert net.prototypes_ready
    assert torch.equal(net.prototypes.detach(), values)
    assert torch.allclose(net.unit_prototypes(), values / values.norm(dim=1, keepdim=True), atol=1e-6)
    with pytest.raises(ValueError, match=r"\(5, 128\)"):
        net.set_prototypes(torch.zeros(4, 128))


def test_prototypes_and_their_flag_are_in_the_checkpoint() -> None:
    net, other = _net(), _net()
    net.set_prototypes(torch.randn(5, 128))
    other.load_state_dict(net.state_dict(), strict=True)
    assert bool(other.prototypes_ready)
    assert torch.equal(other.prototypes, net.prototypes)


def test_training_batch_of_one_is_refused() -> None:
    net = _net()
    with pytest.raises(ValueError, match="at least 2 samples"):
        net(torch.rand(1, 3, 32, 32))
    assert net.eval()(torch.rand(1, 3, 32, 32)).embedding.shape == (1, 128)
