"""The trunk on frozen features."""

from __future__ import annotations

import pytest
import torch

from lond.errors import ConfigError
from lond.nets import build_backbone
from lond.nets.feature_trunk import FeatureTrunk


def test_shapes_and_standardisation() -> None:
    trunk = FeatureTrunk(6, 0.0625)
    assert trunk.feature_size == 32
    x = 100 + 7 * torch.randn(50, 6)
    assert trunk(x).shape == (50, 32)
    standardised = trunk.standardise(x)
    assert torch.allclose(standardised.mean(dim=0), torch.zeros(6), atol=1e-4)
    assert torch.allclose(standardised.std(dim=0, unbiased=False), torch.ones(6), atol=1e-3)


def test_stored_views_count_by_their_mean() -> None:
    trunk = FeatureTrunk(4, 0.0625).eval()
    x = torch.randn(3, 2, 1, 4)
    assert torch.allclose(trunk(x), trunk(x[:, :, 0].mean(dim=1)))


def test_it_is_built_by_name() -> None:
    module, size = build_backbone("features", in_channels=2, image_size=(1, 10), width=0.25)
    assert size == 128
    assert module(torch.randn(5, 10)).shape == (5, 128)
    with pytest.raises(ConfigError, match="no published weights"):
        build_backbone("features", in_channels=2, image_size=(1, 10), pretrained=True)
