"""Features are computed once: cached by content, resumed, never for unreadable images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import lond.frozen.cache as module
from lond.data.options import ReadOptions
from lond.data.sources import load
from lond.frozen.cache import FeatureCache, compute_features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.hashes import content_hashes
from lond.types import Samples

SETTINGS = ExtractorSettings(size=16)


class Means:
    """Stands in for a network: two views of three channel means; counts the images it has seen."""

    seen = 0

    def __init__(self, settings: ExtractorSettings, device: object) -> None:
        self.settings = settings

    def __call__(self, images: Tensor) -> Tensor:
        Means.seen += len(images)
        means = images.float().mean(dim=(2, 3))
        return torch.stack([means, means + 0.5], dim=1)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Extractor", Means)
    monkeypatch.setattr(module, "ROWS_A_FILE", 4)
    Means.seen = 0


def write_images(root: Path, count: int = 10) -> None:
    for index in range(count):
        path = root / "ab"[index % 2] / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), (20 * index, 7, 9)).save(path)


def read(root: Path) -> Samples:
    return load(root, options=ReadOptions(size=16, num_workers=0))


def compute(root: Path, cache: Path, **options: object) -> module.Computed:
    samples = read(root)
    return compute_features(samples, content_hashes(samples), FeatureCache(cache, SETTINGS), **options)


def test_features_come_in_the_order_of_the_samples(tmp_path: Path) -> None:
    write_images(tmp_path / "images")
    samples = read(tmp_path / "images")
    found = compute(tmp_path / "images", tmp_path / "cache")
    assert found.features.shape == (10, 2, 3)
    reds = [20 * int(Path(name).stem) for name in samples.ids]
    assert found.features[:, 0, 0].tolist() == reds
    assert found.features[:, 1, 0].tolist() == [red + 0.5 for red in reds]
    assert not found.unreadable


def test_nothing_is_computed_twice_and_a_changed_image_is(tmp_path: Path) -> None:
    write_images(tmp_path / "images")
    first = compute(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 10
    again = compute(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 10
    assert np.array_equal(first.features, again.features)
    Image.new("RGB", (16, 16), (255, 0, 0)).save(tmp_path / "images" / "a" / "4.png")
    (tmp_path / "images" / "b" / "1.png").rename(tmp_path / "images" / "a" / "elsewhere.png")
    changed = compute(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 11
    assert 255 in changed.features[:, 0, 0].tolist()


def test_equal_images_are_computed_once(tmp_path: Path) -> None:
    for name in ("a/1.png", "a/2.png", "b/3.png"):
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), (9, 9, 9)).save(tmp_path / "images" / name)
    found = compute(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 1
    assert (found.features[:, 0] == 9).all()


def test_a_run_that_was_cut_goes_on(tmp_path: Path) -> None:
    write_images(tmp_path / "images")

    def stop(done: int, total: int) -> None:
        assert total == 10
        if done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute(tmp_path / "images", tmp_path / "cache", progress=stop)
    Means.seen = 0
    compute(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 2


def test_other_networks_have_their_own_features(tmp_path: Path) -> None:
    write_images(tmp_path / "images", 2)
    compute(tmp_path / "images", tmp_path / "cache")
    samples = read(tmp_path / "images")
    other = FeatureCache(tmp_path / "cache", ExtractorSettings(size=32))
    assert not any(content in other for content in content_hashes(samples))
    same = FeatureCache(tmp_path / "cache", ExtractorSettings(size=16, route="torch"))
    assert all(content in same for content in content_hashes(samples))


def test_unreadable_images_are_named_and_not_kept(tmp_path: Path) -> None:
    write_images(tmp_path / "images", 4)
    (tmp_path / "images" / "a" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    for _ in range(2):
        found = compute(tmp_path / "images", tmp_path / "cache")
        samples = read(tmp_path / "images")
        (place,) = found.unreadable
        assert samples.ids[place].endswith("bad.png")
        assert found.unreadable[place]
        assert not found.features[place].any()


def test_a_damaged_file_of_the_cache_is_computed_again(tmp_path: Path) -> None:
    write_images(tmp_path / "images", 6)
    first = compute(tmp_path / "images", tmp_path / "cache")
    damaged = sorted((tmp_path / "cache").rglob("*.safetensors"))[0]
    damaged.write_bytes(damaged.read_bytes()[:20])
    again = compute(tmp_path / "images", tmp_path / "cache")
    assert np.array_equal(first.features, again.features)
    assert Means.seen > 6
