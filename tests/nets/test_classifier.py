"""The softmax classifier with its two heads."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from lond.errors import ConfigError
from lond.nets import Classifier, SevenLayerCNN


@pytest.mark.parametrize(
    ("head", "classes", "count"),
    [("linear", 80, 536_140), ("linear", 100, 541_280), ("mlp", 80, 689_228), ("mlp", 100, 699_488)],
)
def test_parameter_counts_of_the_sheet(head: str, classes: int, count: int) -> None:
    net = Classifier(SevenLayerCNN(), 256, classes, head)  # type: ignore[arg-type]
    assert sum(p.numel() for p in net.parameters()) == count


@pytest.mark.parametrize(("head", "size"), [("linear", 256), ("mlp", 32)])
def test_features_are_the_input_of_the_last_layer(head: str, size: int) -> None:
    net = Classifier(SevenLayerCNN(width=0.125), 256, 7, head, hidden=32)  # type: ignore[arg-type]
    out = net(torch.rand(4, 3, 32, 32))
    assert net.penultimate_size == size
    assert out.features.shape == (4, size)
    assert out.logits.shape == (4, 7)
    assert torch.allclose(out.logits, out.features @ net.last.weight.T + net.last.bias, atol=1e-5)
    out.logits.sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_kaiming_start_of_the_mlp_head() -> None:
    torch.manual_seed(0)
    net = Classifier(SevenLayerCNN(width=0.125), 256, 100)
    first = net.neck[0]
    assert isinstance(first, nn.Linear)
    assert float(first.weight.detach().std()) == pytest.approx(math.sqrt(2 / 256), rel=0.02)
    assert float(net.last.weight.detach().std()) == pytest.approx(math.sqrt(2 / 512), rel=0.02)
    assert not first.bias.any() and not net.last.bias.any()


def test_unknown_head_and_batch_of_one() -> None:
    with pytest.raises(ConfigError, match="'mlp' or 'linear'"):
        Classifier(SevenLayerCNN(width=0.125), 256, 7, head="deep")  # type: ignore[arg-type]
    net = Classifier(SevenLayerCNN(width=0.125), 256, 7)
    with pytest.raises(ValueError, match="at least 2 samples"):
        net(torch.rand(1, 3, 32, 32))
    linear = Classifier(SevenLayerCNN(width=0.125), 256, 7, head="linear")
    assert linear(torch.rand(1, 3, 32, 32)).logits.shape == (1, 7)
