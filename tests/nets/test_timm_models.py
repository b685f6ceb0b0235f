"""timm backbones: sizes, weight files, helpful errors."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from lond.errors import ConfigError, LondError, MissingDependencyError
from lond.nets import timm_models
from lond.nets.timm_models import import_timm, timm_backbone

needs_timm = pytest.mark.skipif(importlib.util.find_spec("timm") is None, reason="lond[timm] is not installed")


@needs_timm
@pytest.mark.parametrize("name", ["resnet18", "mobilenetv3_small_050"])
def test_feature_size_is_what_comes_out(name: str) -> None:
    net = timm_backbone(name, in_channels=1)
    assert net.eval()(torch.rand(2, 1, 32, 32)).shape == (2, net.feature_size)
    assert not hasattr(net, "input_mean")


@needs_timm
def test_fixed_size_models_are_built_for_the_image() -> None:
    net = timm_backbone("vit_tiny_patch16_224", image_size=(48, 32))
    assert net.eval()(torch.rand(2, 3, 48, 32)).shape == (2, 192)


@needs_timm
def test_local_weight_file(tmp_path: Path) -> None:
    timm = import_timm()
    torch.manual_seed(1)
    full = timm.create_model("resnet18", num_classes=10)
    torch.save(full.state_dict(), tmp_path / "resnet18.pth")
    net = timm_backbone("resnet18", checkpoint_path=tmp_path / "resnet18.pth")
    assert torch.equal(net.state_dict()["layer4.1.conv2.weight"], full.state_dict()["layer4.1.conv2.weight"])
    assert net.input_mean == pytest.approx((0.485, 0.456, 0.406))
    with pytest.raises(ConfigError, match=r"another model|does not fit"):
        timm_backbone("resnet34", checkpoint_path=tmp_path / "resnet18.pth")
    with pytest.raises(ConfigError, match="no weight file"):
        timm_backbone("resnet18", checkpoint_path=tmp_path / "none.pth")


@needs_timm
def test_unknown_name_suggests_close_ones() -> None:
    with pytest.raises(ConfigError, match=r"did you mean.*resnet50"):
        timm_backbone("resnet_50")


@needs_timm
def test_model_without_published_weights() -> None:
    timm = import_timm()
    name = next(name for name in timm.list_models() if not timm.is_model_pretrained(name))
    with pytest.raises(ConfigError, match="no published weights"):
        timm_backbone(name, pretrained=True)


@needs_timm
def test_failed_download_says_how_to_pass_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*args: object, **kwargs: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(import_timm(), "create_model", offline)
    with pytest.raises(LondError, match=r"no route to host.*checkpoint_path"):
        timm_backbone("resnet18", pretrained=True)


def test_grey_images_get_the_mean_over_the_colours() -> None:
    assert timm_models._per_channel((0.1, 0.2, 0.6), 3) == (0.1, 0.2, 0.6)
    assert timm_models._per_channel((0.1, 0.2, 0.6), 1) == pytest.approx((0.3,))


def test_missing_timm_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[timm\]'"):
        import_timm()


def test_other_torchvision_failures_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> ModuleType:
        raise RuntimeError("something else")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(RuntimeError, match="something else"):
        import_timm()


@needs_timm
def test_import_works_twice() -> None:
    assert import_timm() is import_timm() is sys.modules["timm"]
