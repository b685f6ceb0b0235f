"""The last layer, read from what it does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lond.detect.last_layer import last_layer
from lond.errors import ConfigError


def test_weight_and_bias_of_a_linear_layer() -> None:
    layer = nn.Linear(7, 3)
    weight, bias = last_layer(layer, torch.randn(2, 7))
    assert torch.allclose(weight, layer.weight, atol=1e-6) and torch.allclose(bias, layer.bias)
    assert not weight.requires_grad


def test_a_sum_of_two_layers_and_a_layer_without_bias() -> None:
    first, second = nn.Linear(3, 4), nn.Linear(3, 4, bias=False)

    def head(features: Tensor) -> Tensor:
        left, right = features.chunk(2, dim=1)
        return first(left) + second(right)

    weight, bias = last_layer(head, torch.randn(0, 6))
    assert torch.allclose(weight, torch.cat([first.weight, second.weight], dim=1), atol=1e-6)
    assert torch.allclose(bias, first.bias)


def test_half_precision_features() -> None:
    weight, _ = last_layer(nn.Linear(4, 2), torch.randn(3, 4).half())
    assert weight.dtype == torch.float32


def test_what_is_not_linear_is_said() -> None:
    with pytest.raises(ConfigError, match="needs a linear last layer"):
        last_layer(lambda h: h.square() + 1, 5 + torch.rand(3, 4))
