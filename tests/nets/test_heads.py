"""The two-layer head."""

from __future__ import annotations

import torch
from torch import nn

from lond.nets import mlp_head


def test_layers_and_default_hidden_width() -> None:
    head = mlp_head(5, 3)
    assert [type(layer) for layer in head] == [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Linear]
    assert head[0].weight.shape == (5, 5)
    assert head(torch.rand(4, 5)).shape == (4, 3)


def test_hidden_width() -> None:
    assert mlp_head(5, 3, hidden=7)[0].weight.shape == (7, 5)
