"""The one way to features: computed once, resumed, every file opened once, never for unreadable images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import lond.frozen.pictures
import lond.frozen.read as module
from lond.data.feature_views import FeaturePixels
from lond.data.options import ReadOptions
from lond.data.pixels import ArrayPixels
from lond.data.read.files import FilePixels
from lond.data.sources import load
from lond.frozen.cache import ContentCache
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.read import FeatureReader, ImageFacts
from lond.types import Pixels, Samples

SETTINGS = ExtractorSettings(size=16)


class Means:
    """Stands in for a network: two views of three channel means; counts the images it has seen."""

    seen = 0

    def __init__(self, settings: ExtractorSettings, device: object, folder: Path | None) -> None:
        self.settings = settings

    def __call__(self, images: Tensor) -> Tensor:
        Means.seen += len(images)
        means = images.float().mean(dim=(2, 3))
        return torch.stack([means, means + 0.5], dim=1)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Extractor", Means)
    for where in (module, lond.frozen.pictures):
        monkeypatch.setattr(where, "BATCH", 4)
    monkeypatch.setattr(module, "ROWS_A_FILE", 4)
    Means.seen = 0


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often files are opened and decoded."""
    found: Counter[str] = Counter()
    for name in ("data.read.files.read_bytes", "data.images._converted"):
        place, function = f"lond.{name}".rsplit(".", 1)
        real = getattr(__import__(place, fromlist=[function]), function)

        def counted(*arguments: object, name: str = name, real: object = real) -> object:
            found[name.rsplit(".", 1)[1]] += 1
            return real(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(f"lond.{name}", counted)
    return found


def write_images(root: Path, count: int = 10) -> None:
    for index in range(count):
        path = root / "ab"[index % 2] / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), (20 * index, 7, 9)).save(path)


def images_of(root: Path) -> Samples:
    return load(root, options=ReadOptions(size=16, num_workers=0))


def samples_of(pixels: Pixels) -> Samples:
    return Samples(pixels, torch.zeros(len(pixels), dtype=torch.long), ("a",), tuple(map(str, range(len(pixels)))))


def read(root: Path, cache: Path | None, **options: object) -> ImageFacts:
    reader = FeatureReader(cache, torch.device("cpu"), **{"progress": options.pop("progress", module.quiet)})  # type: ignore[arg-type]
    return reader.read(images_of(root), SETTINGS, **options)  # type: ignore[arg-type]


def test_features_come_in_the_order_of_the_samples(tmp_path: Path) -> None:
    write_images(tmp_path / "images")
    found = read(tmp_path / "images", tmp_path / "cache")
    assert found.features.shape == (10, 2, 3)
    reds = [20 * int(Path(name).stem) for name in found.samples.ids]
    assert found.features[:, 0, 0].tolist() == reds
    assert found.features[:, 1, 0].tolist() == [red + 0.5 for red in reds]
    assert not found.unreadable and found.perceptual is None


def test_every_file_is_opened_and_decoded_once(tmp_path: Path, counts: Counter[str]) -> None:
    write_images(tmp_path / "images")
    everything = {"perceptual": True, "thumbnails": True}
    first = read(tmp_path / "images", tmp_path / "cache", **everything)
    pictures = [first.thumbnail(place) for place in range(10)]
    assert counts == {"read_bytes": 10, "_converted": 10}
    counts.clear()
    again = read(tmp_path / "images", tmp_path / "cache", **everything)
    assert [again.thumbnail(place) for place in range(10)] == pictures
    assert counts == {"read_bytes": 10}
    assert first.perceptual is not None and again.perceptual is not None
    assert torch.equal(first.perceptual.small, again.perceptual.small)
    assert torch.equal(first.perceptual.bits, again.perceptual.bits)
    counts.clear()
    passing = read(tmp_path / "images", None, **everything)
    assert [passing.thumbnail(place) for place in range(10)] == pictures
    assert counts == {"read_bytes": 10, "_converted": 10}


def test_nothing_is_computed_twice_and_a_changed_image_is(tmp_path: Path) -> None:
    write_images(tmp_path / "images")
    first = read(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 10
    again = read(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 10
    assert np.array_equal(first.features, again.features)
    Image.new("RGB", (16, 16), (255, 0, 0)).save(tmp_path / "images" / "a" / "4.png")
    (tmp_path / "images" / "b" / "1.png").rename(tmp_path / "images" / "a" / "elsewhere.png")
    changed = read(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 11
    assert 255 in changed.features[:, 0, 0].tolist()


def test_equal_images_are_computed_once(tmp_path: Path) -> None:
    for number in range(9):
        path = tmp_path / "images" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), (9, 9, 9)).save(path)
    found = read(tmp_path / "images", tmp_path / "cache", perceptual=True)
    assert Means.seen == 1
    assert len(set(found.hashes)) == 1
    assert (found.features[:, 0] == 9).all()


def test_a_run_that_was_cut_goes_on(tmp_path: Path) -> None:
    write_images(tmp_path / "images")

    def stop(done: int, total: int) -> None:
        assert total == 10
        if done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(tmp_path / "images", tmp_path / "cache", progress=lambda name: stop)
    Means.seen = 0
    read(tmp_path / "images", tmp_path / "cache")
    assert Means.seen == 2


def test_other_networks_have_their_own_features(tmp_path: Path) -> None:
    write_images(tmp_path / "images", 2)
    hashes = read(tmp_path / "images", tmp_path / "cache").hashes
    other = ContentCache(tmp_path / "cache", ExtractorSettings(size=32).key())
    assert not any(content in other for content in hashes)
    assert not ContentCache(tmp_path / "cache", ExtractorSettings(size=16, whole=True).key()).known()
    same = ContentCache(tmp_path / "cache", ExtractorSettings(size=16, route="torch").key())
    assert all(content in same for content in hashes)


def test_unreadable_images_are_named_and_not_kept(tmp_path: Path) -> None:
    write_images(tmp_path / "images", 4)
    for name in ("bad.png", "same.png"):
        (tmp_path / "images" / "a" / name).write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    for _ in range(2):
        found = read(tmp_path / "images", tmp_path / "cache", perceptual=True)
        assert [found.samples.ids[place] for place in found.unreadable] == ["a/bad.png", "a/same.png"]
        for place, reason in found.unreadable.items():
            assert reason and found.hashes[place] == "" and found.thumbnail(place) is None
            assert not found.features[place].any()
    assert Means.seen == 4


def test_a_damaged_file_of_the_cache_is_computed_again(tmp_path: Path) -> None:
    write_images(tmp_path / "images", 6)
    first = read(tmp_path / "images", tmp_path / "cache")
    damaged = sorted((tmp_path / "cache").rglob("*.safetensors"))[0]
    damaged.write_bytes(damaged.read_bytes()[:20])
    again = read(tmp_path / "images", tmp_path / "cache")
    assert np.array_equal(first.features, again.features)
    assert Means.seen > 6


def test_without_a_network_nothing_but_hashes_is_known(tmp_path: Path) -> None:
    write_images(tmp_path / "images", 3)
    reader = FeatureReader(None, torch.device("cpu"))
    found = reader.read(images_of(tmp_path / "images"), None, perceptual=True)
    assert found.features.shape == (3, 1, 0) and Means.seen == 0
    assert found.perceptual is not None and found.perceptual.small.shape == (3, 768)
    picture = found.thumbnail(1)
    assert picture is not None and picture.size == (16, 16)


def test_images_in_memory_and_embeddings() -> None:
    reader = FeatureReader(None, torch.device("cpu"))
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    images[5] = images[1]
    found = reader.read(samples_of(ArrayPixels(images)), SETTINGS, perceptual=True, thumbnails=True)
    assert found.hashes[5] == found.hashes[1] and len(set(found.hashes)) == 5
    assert np.allclose(found.features[:, 0], images.float().mean(dim=(2, 3)).half().numpy())
    picture = found.thumbnail(2)
    assert picture is not None and np.array_equal(np.asarray(picture), images[2].permute(1, 2, 0).numpy())
    own = reader.read(samples_of(FeaturePixels(np.eye(3))), None, perceptual=True, thumbnails=True)
    assert len(set(own.hashes)) == 3 and own.perceptual is None and own.thumbnail(0) is None


def test_no_images() -> None:
    none = samples_of(ArrayPixels(torch.zeros(0, 3, 4, 4, dtype=torch.uint8)))
    found = FeatureReader(None, torch.device("cpu")).read(none, SETTINGS, perceptual=True)
    assert (found.hashes, len(found.features), found.unreadable) == ([], 0, {})
    assert found.perceptual is not None and found.perceptual.vectors().shape == (0, 768)


def test_batches_share_memory_and_not_their_values(tmp_path: Path) -> None:
    writer = module._FeatureWriter(ContentCache(tmp_path, "key"), lambda: lambda images: images)
    first = writer._stacked([torch.full((3, 2, 2), value, dtype=torch.uint8) for value in (1, 2, 3)])
    place = first.data_ptr()
    assert first[:, 0, 0, 0].tolist() == [1, 2, 3]
    second = writer._stacked([torch.full((3, 2, 2), 9, dtype=torch.uint8)])
    assert second.data_ptr() == place and torch.equal(second, torch.full((1, 3, 2, 2), 9, dtype=torch.uint8))
    assert writer._stacked([torch.zeros(1, 4, 4)]).shape == (1, 1, 4, 4)


@pytest.mark.parametrize(("batch", "rows"), [(64, 1024), (2, 1), (4, 2)])
def test_of_a_long_picture_the_mean_features_of_its_squares_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, rows: int
) -> None:
    """Also if a batch, or a file of the cache, ends between the squares."""
    monkeypatch.setattr(module, "BATCH", batch)
    monkeypatch.setattr(module, "ROWS_A_FILE", rows)
    random, paths = np.random.default_rng(0), [tmp_path / f"{number}.png" for number in range(5)]
    for path, width in zip(paths, (16, 48, 48, 16, 48), strict=True):
        Image.fromarray(random.integers(0, 256, (16, width, 3), dtype=np.uint8)).save(path)
    paths.append(paths[1])
    reader = FeatureReader(tmp_path / "cache", torch.device("cpu"))
    samples = samples_of(FilePixels(paths, 16, num_workers=0))
    found = reader.read(samples, SETTINGS).features
    means = np.stack([np.asarray(Image.open(path), dtype=float).mean(axis=(0, 1)) for path in paths])
    np.testing.assert_allclose(found, np.stack([means, means + 0.5], axis=1), rtol=1e-3)
    assert Means.seen == 2 + 3 * 3
    assert np.array_equal(reader.read(samples, SETTINGS).features, found) and Means.seen == 11
