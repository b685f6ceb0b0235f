"""One way to a backbone: names, own modules, errors."""

from __future__ import annotations

import importlib.util

import pytest
import torch
from torch import Tensor, nn

from lond.errors import ConfigError
from lond.nets import ALL_BACKBONES, BACKBONES, BackboneSpec, SevenLayerCNN, build_backbone, register


@pytest.mark.parametrize("name", sorted(set(BACKBONES) - {"features"}))
def test_every_name_builds_what_it_says(name: str) -> None:
    module, size = build_backbone(name, in_channels=1, image_size=(32, 40))
    assert module.training
    assert module.eval()(torch.rand(2, 1, 32, 40)).shape == (2, size)


@pytest.mark.skipif(importlib.util.find_spec("timm") is None, reason="lond[timm] is not installed")
def test_timm_prefix() -> None:
    module, size = build_backbone("timm:resnet18", in_channels=3, image_size=(32, 32))
    assert size == module.feature_size == 512


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'seven-layer'\?.*efficientnet-lite0.*timm:<model>"):
        build_backbone("seven_layer", in_channels=3, image_size=(32, 32))
    with pytest.raises(ConfigError, match="Known: seven-layer"):
        build_backbone("?", in_channels=3, image_size=(32, 32))


def test_features_are_no_images() -> None:
    with pytest.raises(ConfigError, match="for images name a network"):
        build_backbone("features", in_channels=3, image_size=(32, 32))


def test_settings_that_contradict() -> None:
    with pytest.raises(ConfigError, match="no published weights"):
        build_backbone("seven-layer", in_channels=3, image_size=(32, 32), pretrained=True)
    with pytest.raises(ConfigError, match="width"):
        build_backbone("efficientnet-lite0", in_channels=3, image_size=(32, 32), width=0.5)
    with pytest.raises(ConfigError, match="as it is"):
        build_backbone(SevenLayerCNN(), in_channels=3, image_size=(32, 32), pretrained=True)


def test_own_module_with_vectors() -> None:
    own = nn.Sequential(nn.Flatten(), nn.Linear(48, 7))
    module, size = build_backbone(own, in_channels=3, image_size=(4, 4))
    assert module is own
    assert size == 7


def test_own_module_with_maps_is_pooled() -> None:
    own = nn.Conv2d(3, 6, 3)
    own.input_mean = (0.5, 0.5, 0.5)  # type: ignore[assignment]
    module, size = build_backbone(own, in_channels=3, image_size=(9, 8))
    x = torch.rand(2, 3, 9, 8)
    assert size == 6
    assert torch.allclose(module(x), own(x).mean(dim=(2, 3)))
    assert module.input_mean == (0.5, 0.5, 0.5)


def test_dry_run_leaves_the_module_as_it_was() -> None:
    own = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(), nn.Flatten())
    own[1].eval()
    before = {name: value.clone() for name, value in own.state_dict().items()}
    build_backbone(own, in_channels=3, image_size=(5, 5))
    assert own.training and own[2].training and not own[1].training
    assert all(torch.equal(value, before[name]) for name, value in own.state_dict().items())


class _Pair(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (_Pair(), "it gives tuple"),
        (nn.Flatten(2), r"it gives \(2, 3, 16\)"),
        (nn.Flatten(0, 1), r"it gives \(6, 4, 4\)"),
        (nn.Linear(5, 5), "fails on images of shape"),
    ],
)
def test_own_modules_that_do_not_fit(own: nn.Module, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_backbone(own, in_channels=3, image_size=(4, 4))


def test_wrong_claim_about_the_feature_size() -> None:
    own = nn.Flatten()
    own.feature_size = 7  # type: ignore[assignment]
    with pytest.raises(ConfigError, match="feature_size = 7 but gives 48"):
        build_backbone(own, in_channels=3, image_size=(4, 4))


def one_convolution(spec: BackboneSpec) -> nn.Module:
    return nn.Conv2d(spec.in_channels, round(8 * spec.width), 3)


def test_a_builder_of_ones_own() -> None:
    passed = build_backbone(one_convolution, in_channels=3, image_size=(6, 6), width=0.5)
    assert passed.feature_size == 4
    assert "one_convolution" in ALL_BACKBONES
    assert build_backbone("one_convolution", in_channels=3, image_size=(6, 6)).feature_size == 8
    register(one_convolution, "one-more")
    assert build_backbone("one-more", in_channels=1, image_size=(6, 6)).feature_size == 8
    with pytest.raises(ConfigError, match="lond has a backbone 'seven-layer' of its own"):
        register(one_convolution, "seven-layer")
    with pytest.raises(ConfigError, match="cannot be called with a BackboneSpec"):
        register(7, "seven")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean 'one-more'.* and timm:<model>"):
        build_backbone("one-mroe", in_channels=1, image_size=(6, 6))
