"""The seven-layer CNN: sizes, width, small images."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lond.errors import ConfigError
from lond.nets import SevenLayerCNN


def test_parameter_count_and_maps_of_the_sheet() -> None:
    net = SevenLayerCNN()
    assert sum(p.numel() for p in net.parameters()) == 515_580
    x = torch.rand(2, 3, 32, 32)
    shapes = []
    for block in net.blocks:
        x = block(x)
        shapes.append(tuple(x.shape[1:]))
    assert shapes == [(64, 16, 16), (128, 8, 8), (16, 4, 4)]
    assert net.feature_size == 256


def test_forward_is_the_flattened_last_map() -> None:
    net = SevenLayerCNN(width=0.25).eval()
    x = torch.rand(3, 3, 32, 32)
    maps = net.blocks[2](net.blocks[1](net.blocks[0](x)))
    assert torch.equal(net(x), maps.reshape(3, -1))


@pytest.mark.parametrize(("size", "features"), [((8, 8), 16), ((28, 28), 144), ((33, 47), 320), ((64, 32), 512)])
def test_feature_size_follows_the_image(size: tuple[int, int], features: int) -> None:
    net = SevenLayerCNN(in_channels=1, width=0.125, image_size=size)
    assert net.feature_size == features
    assert net(torch.rand(2, 1, *size)).shape == (2, features)


def test_width_scales_all_but_the_last_convolution_and_has_a_floor() -> None:
    def channels(width: float) -> list[int]:
        return [m.out_channels for m in SevenLayerCNN(width=width).modules() if isinstance(m, nn.Conv2d)]

    assert channels(0.5) == [32, 32, 64, 64, 98, 16]
    assert channels(0.01) == [8, 8, 8, 8, 8, 16]


def test_small_images_and_zero_width_are_refused() -> None:
    with pytest.raises(ConfigError, match="enlarge the images"):
        SevenLayerCNN(image_size=(32, 7))
    with pytest.raises(ConfigError, match="width"):
        SevenLayerCNN(width=0)


@torch.no_grad()
@pytest.mark.parametrize("size", [(32, 32), (17, 25), (8, 8)])
def test_features_follow_from_either_map(size: tuple[int, int]) -> None:
    net = SevenLayerCNN(width=0.25, image_size=size).eval()
    x = torch.randn(3, 3, *size)
    earlier, last = net.maps(x)
    assert earlier.shape == (3, 32, size[0] // 4, size[1] // 4)
    assert last.shape == (3, 16, size[0] // 8, size[1] // 8)
    kept = earlier.clone()
    assert torch.equal(net.after(0, last), net(x))
    assert torch.equal(net.after(1, earlier), net(x))
    # The last block, with its ReLUs in place, must not write into the maps that were given out.
    assert torch.equal(earlier, kept)
