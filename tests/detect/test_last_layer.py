"""The last layer, read from what it does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lond.detect.last_layer import Head, last_layer
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


def bent(at: float, by: float) -> Head:
    """Return a head that is the identity for 0 and 1, which weights are read from, and off by ``by`` at ``at``."""
    return lambda h: torch.where(h == at, h + by, h)


@pytest.mark.parametrize(
    ("at", "within", "beyond"),
    [
        # A thousandth of the entry, 100, and as much again of the largest output.
        (100.0, 0.19, 0.25),
        # A thousandth of the entry, 0.5, and one of 1, although the largest output is smaller.
        (0.5, 0.0014, 0.0018),
    ],
)
def test_how_far_from_linear_a_head_may_be(at: float, within: float, beyond: float) -> None:
    weight, bias = last_layer(bent(at, within), torch.tensor([[at]]))
    assert (weight.item(), bias.item()) == (1, 0)
    with pytest.raises(ConfigError, match="needs a linear last layer"):
        last_layer(bent(at, beyond), torch.tensor([[at]]))


def test_a_small_output_may_be_as_far_off_as_a_large_one() -> None:
    """Sums in float32 round by a share of the largest output, 100, also where the output itself is 0."""
    features = torch.tensor([[100.0, 0.0]])
    weight, _ = last_layer(lambda h: h + torch.tensor([0.0, 0.09]) * (h[:, :1] == 100), features)
    assert torch.equal(weight, torch.eye(2))
    with pytest.raises(ConfigError, match="needs a linear last layer"):
        last_layer(lambda h: h + torch.tensor([0.0, 0.11]) * (h[:, :1] == 100), features)
