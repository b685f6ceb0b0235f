"""EfficientNet-Lite: shapes, gradients, the published numbers of parameters, and features from maps."""

from __future__ import annotations

import pytest
import torch

from lond.nets.efficientnet_lite import EfficientNetLite0, EfficientNetLite1, EfficientNetLite2


@pytest.mark.parametrize("size", [(32, 32), (75, 50)])
def test_shapes_and_gradients(size: tuple[int, int]) -> None:
    net = EfficientNetLite0(in_channels=1)
    out = net(torch.rand(2, 1, *size))
    assert out.shape == (2, net.feature_size) == (2, 1280)
    assert len(net.input_mean) == len(net.input_std) == 1
    out.sum().backward()
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize(
    ("network", "published"),
    [(EfficientNetLite0, 4_652_008), (EfficientNetLite1, 5_416_680), (EfficientNetLite2, 6_092_072)],
)
def test_parameter_count_is_that_of_the_publication_without_its_classifier(
    network: type[EfficientNetLite0], published: int
) -> None:
    assert sum(p.numel() for p in network().parameters()) == published - 1_281_000


@torch.no_grad()
def test_features_follow_from_either_map() -> None:
    net = EfficientNetLite0().eval()
    x = torch.randn(2, 3, 64, 48, generator=torch.Generator().manual_seed(0))
    earlier, last = net.maps(x)
    assert earlier.shape == (2, 320, 2, 2)
    assert last.shape == (2, 1280, 2, 2)
    kept = earlier.clone()
    assert torch.equal(net.after(0, last), net(x))
    assert torch.equal(net.after(1, earlier), net(x))
    assert torch.equal(earlier, kept)
