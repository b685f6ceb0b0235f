"""Samples of features: the network's own values, in order, known by the images and not by rounding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from audit.audit_samples import PoolFeatures, add_trouble, write_folder

import lond.frozen.read
from lond.data.options import ReadOptions
from lond.data.sources import load
from lond.data.split import take
from lond.errors import ConfigError, DataError
from lond.frozen.read import FeatureReader
from lond.frozen.samples import FrozenPixels, FrozenSettings, as_features
from lond.types import Problem, Request, Samples

SETTINGS = FrozenSettings(backbone="efficientnet-lite0", size=16)


def reader(tmp_path: Path) -> FeatureReader:
    return FeatureReader(tmp_path / "cache", torch.device("cpu"))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)


def read(root: Path) -> Samples:
    return load(root, options=ReadOptions(size=16, num_workers=0))


def test_features_are_those_of_each_image(tmp_path: Path) -> None:
    write_folder(tmp_path / "images", each=5, foreign=1, wrong=1)
    samples = read(tmp_path / "images")
    found = as_features(samples, SETTINGS, reader(tmp_path))
    assert (found.pixels.channels, found.pixels.size) == (2, (1, 48))
    assert (found.ids, found.class_names, found.origin) == (samples.ids, samples.class_names, samples.origin)
    assert torch.equal(found.labels, samples.labels)
    (images,) = samples.pixels.stream([Request(torch.arange(len(samples)))])
    (features,) = found.pixels.stream([Request(torch.arange(len(samples)))])
    assert torch.allclose(features[0].squeeze(2), PoolFeatures(SETTINGS, "cpu")(images[0]), atol=1e-3)


def test_images_that_cannot_be_read_are_left_out_and_named(tmp_path: Path) -> None:
    write_folder(tmp_path / "images", each=4, foreign=0, wrong=0)
    (tmp_path / "images" / "red" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    samples = replace(read(tmp_path / "images"), problems=(Problem("earlier", "reason"),))
    found = as_features(samples, SETTINGS, reader(tmp_path))
    assert len(found) == len(samples) - 1
    assert "red/bad.png" not in found.ids
    assert [problem.id for problem in found.problems] == ["earlier", "red/bad.png"]
    whole = read(tmp_path / "images")
    kept = torch.tensor([place for place, name in enumerate(whole.ids) if name != "red/bad.png"])
    alone = as_features(take(whole, kept), SETTINGS, reader(tmp_path))
    assert alone.pixels.fingerprint() == found.pixels.fingerprint()
    only = take(whole, torch.tensor([whole.ids.index("red/bad.png")]))
    with pytest.raises(DataError, match="none of the 1 images"):
        as_features(only, SETTINGS, reader(tmp_path))


def test_copies_are_kept_under_both_labels(tmp_path: Path) -> None:
    write_folder(tmp_path / "images", each=24, foreign=0, wrong=0)
    add_trouble(tmp_path / "images")
    found = as_features(read(tmp_path / "images"), SETTINGS, reader(tmp_path))
    assert isinstance(found.pixels, FrozenPixels)
    first, second = (found.ids.index(name) for name in ("blue/blue_20.png", "red/elsewhere.png"))
    assert np.array_equal(found.pixels.values[first], found.pixels.values[second])
    assert found.labels[first] != found.labels[second]


def test_the_fingerprint_is_of_images_and_network() -> None:
    values = np.ones((2, 1, 3), dtype=np.float16)
    hashes = ["a" * 64, "b" * 64]
    pixels = FrozenPixels(values, hashes, "net")
    assert FrozenPixels(values + 1, hashes, "net").fingerprint() == pixels.fingerprint()
    others = [
        FrozenPixels(values, hashes[::-1], "net"),
        FrozenPixels(values, hashes, "other net"),
        FrozenPixels(values[:1], hashes[:1], "net"),
    ]
    assert pixels.fingerprint() not in {other.fingerprint() for other in others}


def test_settings_are_those_of_the_extractor_but_off() -> None:
    settings = FrozenSettings()
    assert (settings.backbone, settings.size, settings.mirrored, settings.route) == ("", 224, True, "auto")
    with pytest.raises(ConfigError, match="at least 16"):
        FrozenSettings(size=8)
