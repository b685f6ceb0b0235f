"""Benchmarks by name, on small files of the real layouts."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits

from lond.data import benchmarks
from lond.data.benchmarks import BENCHMARKS, EXTENTS, Benchmark, BenchmarkSettings, Extent, load_benchmark
from lond.data.noise import NoiseSettings, add_noise, label_hash
from lond.data.pixels import ArrayPixels
from lond.errors import ConfigError, DataError
from lond.types import FOREIGN, Request, Samples

SYM50 = NoiseSettings(closed_rate=0.5)


def images_of(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.pixels, ArrayPixels)
    return samples.pixels.images


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=2))


def _split(count: int, classes: int, seed: int) -> tuple[np.ndarray, list[int]]:
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(count) % classes).tolist()
    return random.integers(0, 256, (count, 3072), dtype=np.uint8), labels


@pytest.fixture(scope="module")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both CIFAR sets with few images: 300 / 100 of CIFAR-100, 50 / 20 of CIFAR-10."""
    root = tmp_path_factory.mktemp("cifar")
    folder = root / "cifar-100-python"
    for name, count, seed in (("train", 300, 0), ("test", 100, 1)):
        data, labels = _split(count, 100, seed)
        _write(folder / name, {"data": data, "fine_labels": labels})
    _write(folder / "meta", {"fine_label_names": [f"class{index:02d}" for index in range(100)]})
    folder = root / "cifar-10-batches-py"
    for number in range(1, 6):
        data, labels = _split(10, 10, number)
        _write(folder / f"data_batch_{number}", {"data": data, "labels": labels})
    data, labels = _split(20, 10, 9)
    _write(folder / "test_batch", {"data": data, "labels": labels})
    _write(folder / "batches.meta", {"label_names": [f"c{index}" for index in range(10)]})
    return root


def raw(root: Path, split: str) -> tuple[torch.Tensor, np.ndarray]:
    content = pickle.loads((root / "cifar-100-python" / split).read_bytes())
    return torch.from_numpy(content["data"].reshape(-1, 3, 32, 32)), np.array(content["fine_labels"])


@pytest.mark.parametrize(
    ("name", "sizes", "classes", "open_ratio"),
    [("cifar80n", (300, 100), 80, 0.2), ("cifar100n", (300, 100), 100, 0.0), ("cifar10n", (50, 20), 10, 0.0)],
)
def test_cifar(cifar: Path, name: str, sizes: tuple[int, int], classes: int, open_ratio: float) -> None:
    benchmark = load_benchmark(BenchmarkSettings(name, root=str(cifar), noise=SYM50))
    train, test = benchmark.train, benchmark.test
    assert (len(train), len(test)) == sizes
    assert train.num_classes == test.num_classes == classes
    assert train.labels.min() >= 0
    assert train.labels.max() < classes
    assert train.true_labels is not None
    assert torch.equal(test.labels, test.true_labels)
    assert bool((test.labels == FOREIGN).any()) == bool((train.true_labels == FOREIGN).any()) == (open_ratio > 0)
    assert benchmark.manifest["noise"]["open_ratio"] == open_ratio
    assert benchmark.manifest["labels_sha256"] == label_hash(train.labels)
    assert train.ids[7] == f"{name}/train/00007"
    assert len(set(train.ids + test.ids)) == sum(sizes)


def test_cifar80n_in_detail(cifar: Path) -> None:
    noise = NoiseSettings("asymmetric", 0.4, open_ratio=0.7, seed=3)
    benchmark = load_benchmark(BenchmarkSettings("cifar80n", root=str(cifar), noise=noise))
    images, labels = raw(cifar, "train")
    expected = add_noise(labels, 100, replace(noise, open_ratio=0.2))
    assert torch.equal(images_of(benchmark.train), images)
    assert torch.equal(benchmark.train.labels, expected.labels)
    assert benchmark.train.true_labels.tolist() == [label if label < 80 else -1 for label in labels]
    assert benchmark.train.class_names == tuple(f"class{index:02d}" for index in range(80))
    images, labels = raw(cifar, "test")
    assert torch.equal(images_of(benchmark.test), images)
    assert benchmark.test.labels.tolist() == [label if label < 80 else -1 for label in labels]
    assert int((benchmark.test.labels == FOREIGN).sum()) == 20


def test_mini80_averages_blocks_of_four_and_keeps_twenty_classes(cifar: Path) -> None:
    benchmark = load_benchmark(BenchmarkSettings("mini80", root=str(cifar), noise=SYM50))
    for split, samples in (("train", benchmark.train), ("test", benchmark.test)):
        images, labels = raw(cifar, split)
        kept = [index for index, label in enumerate(labels) if label < 20]
        assert len(samples) == len(kept)
        assert samples.true_labels.tolist() == [labels[i] if labels[i] < 16 else -1 for i in kept]
        shown = images_of(samples)
        assert shown.shape[1:] == (3, 16, 16)
        for row in range(0, len(kept), 7):
            for channel in range(3):
                for y in (0, 5, 15):
                    for x in (0, 8, 15):
                        block = images[kept[row], channel, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2].tolist()
                        mean = sum(block[0] + block[1]) / 4
                        # Halves are rounded up.
                        assert int(shown[row, channel, y, x]) == int(mean + 0.5)
    assert benchmark.train.class_names == tuple(f"class{index:02d}" for index in range(16))
    assert set(benchmark.train.labels.tolist()) <= set(range(16))
    labels = raw(cifar, "train")[1]
    expected = add_noise(labels[labels < 20], 20, replace(SYM50, open_ratio=0.2))
    assert torch.equal(benchmark.train.labels, expected.labels)


def test_digits() -> None:
    settings = BenchmarkSettings("digits", root="nowhere", noise=SYM50)
    benchmark = load_benchmark(settings)
    train, test = benchmark.train, benchmark.test
    assert (len(train), len(test)) == (1198, 599)
    assert train.pixels.size == (16, 16)
    assert train.pixels.channels == 1
    assert train.class_names == tuple("01234567")
    original = load_digits()
    counts = np.bincount(original.target)
    foreign = int((train.true_labels == FOREIGN).sum() + (test.labels == FOREIGN).sum())
    assert foreign == counts[8] + counts[9]
    known = torch.cat([train.true_labels, test.labels])
    assert torch.bincount(known[known >= 0]).tolist() == counts[:8].tolist()
    # Every original image appears once, doubled.
    small = torch.cat([images_of(train), images_of(test)])[:, 0, ::2, ::2].flatten(1)
    assert torch.equal(images_of(train)[:, :, ::2, ::2], images_of(train)[:, :, 1::2, 1::2])
    expected = (original.images.reshape(-1, 64) * 255 / 16).round()
    assert sorted(map(tuple, small.tolist())) == sorted(map(tuple, expected.astype(int).tolist()))
    assert 0.45 < benchmark.manifest["actual"]["closed_rate"] < 0.55
    again = load_benchmark(settings)
    assert torch.equal(again.train.labels, train.labels)
    assert torch.equal(images_of(again.test), images_of(test))
    other = load_benchmark(replace(settings, noise=replace(SYM50, seed=1)))
    assert not torch.equal(other.train.labels, train.labels)


# Without the images of unknown classes


@pytest.mark.parametrize("name", ["cifar80n", "mini80", "digits"])
def test_known_images_keep_their_labels_without_the_unknown_ones(cifar: Path, name: str) -> None:
    settings = BenchmarkSettings(name, str(cifar), SYM50)
    whole, known = load_benchmark(settings), load_benchmark(replace(settings, train_on_unknown=False))
    assert whole.train.true_labels is not None
    kept = [index for index, label in enumerate(whole.train.true_labels.tolist()) if label != FOREIGN]
    assert 0 < len(known.train) == len(kept) < len(whole.train)
    assert known.train.ids == tuple(whole.train.ids[index] for index in kept)
    assert torch.equal(known.train.labels, whole.train.labels[kept])
    assert torch.equal(known.train.true_labels, whole.train.true_labels[kept])
    assert torch.equal(images_of(known.train), images_of(whole.train)[kept])
    assert known.train.class_names == whole.train.class_names
    assert torch.equal(known.test.labels, whole.test.labels)
    assert known.test.pixels.fingerprint() == whole.test.pixels.fingerprint()
    assert bool((known.test.labels == FOREIGN).any())


def test_the_manifest_tells_that_unknown_images_were_left_out(cifar: Path) -> None:
    settings = BenchmarkSettings("cifar80n", str(cifar), SYM50)
    whole, known = load_benchmark(settings), load_benchmark(replace(settings, train_on_unknown=False))
    assert "train_on_unknown" not in whole.manifest
    assert known.manifest["train_on_unknown"] is False
    assert known.manifest["noise"] == whole.manifest["noise"]
    assert known.manifest["labels_sha256"] == label_hash(known.train.labels) != whole.manifest["labels_sha256"]
    assert known.manifest["actual"]["open_share"] == 0
    assert known.manifest["actual"]["closed_rate"] == whole.manifest["actual"]["closed_rate"]
    assert known.manifest["nominal"] == {"closed_rate": 0.5, "overall": 0.5}


def test_added_open_set_images_can_be_left_out_too(
    cifar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmarks, "OPEN_TEST_IMAGES", 10)
    open_npz(tmp_path / "open.npz")
    settings = BenchmarkSettings("cifar100n", str(cifar), SYM50, str(tmp_path / "open.npz"), 20)
    plain = load_benchmark(replace(settings, open_source="", open_images=0))
    whole, known = load_benchmark(settings), load_benchmark(replace(settings, train_on_unknown=False))
    assert torch.equal(known.train.labels, plain.train.labels)
    assert known.train.ids == plain.train.ids
    assert known.test.ids == whole.test.ids
    assert torch.equal(images_of(known.test), images_of(whole.test))


def test_a_benchmark_with_nothing_to_leave_out_says_so(cifar: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to leave out: cifar100n has no images of unknown classes"):
        load_benchmark(BenchmarkSettings("cifar100n", str(cifar), train_on_unknown=False))


# Open-set images of another source


def open_npz(path: Path, count: int = 30, side: int = 32) -> np.ndarray:
    images = np.random.default_rng(5).integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    half = count // 2
    labels = np.arange(count) % 4
    np.savez(path, x_train=images[:half], y_train=labels[:half], x_test=images[half:], y_test=labels[half:])
    return images.transpose(0, 3, 1, 2)


def with_open(cifar: Path, source: Path, count: int = 20, name: str = "cifar100n") -> Benchmark:
    return load_benchmark(BenchmarkSettings(name, str(cifar), SYM50, open_source=str(source), open_images=count))


def test_open_images_from_an_npz_file(cifar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "OPEN_TEST_IMAGES", 10)
    pool = {image.tobytes() for image in open_npz(tmp_path / "open.npz")}
    plain = load_benchmark(BenchmarkSettings("cifar100n", str(cifar), SYM50))
    benchmark = with_open(cifar, tmp_path / "open.npz")
    train, test = benchmark.train, benchmark.test
    assert (len(train), len(test)) == (320, 110)
    assert torch.equal(train.labels[:300], plain.train.labels)
    assert torch.equal(images_of(train)[:300], images_of(plain.train))
    assert bool((train.true_labels[300:] == FOREIGN).all())
    assert bool(((train.labels[300:] >= 0) & (train.labels[300:] < 100)).all())
    assert test.labels[100:].tolist() == test.true_labels[100:].tolist() == [FOREIGN] * 10
    used = [image.numpy().tobytes() for image in (*images_of(train)[300:], *images_of(test)[100:])]
    # Training and test images are different ones, and together all of the pool.
    assert len(set(used)) == 30
    assert set(used) == pool
    assert len(set(train.ids + test.ids)) == 430
    manifest = benchmark.manifest
    assert manifest["open_images"] == {"train": 20, "test": 10, "source": "open.npz"}
    assert manifest["labels_sha256"] == label_hash(train.labels)
    wrong = (train.labels != train.true_labels).double()
    assert manifest["actual"]["open_share"] == pytest.approx(20 / 320)
    assert manifest["actual"]["overall"] == pytest.approx(float(wrong.mean()))
    assert manifest["actual"]["closed_rate"] == pytest.approx(float(wrong[:300].mean()))
    again = with_open(cifar, tmp_path / "open.npz")
    assert torch.equal(again.train.labels, train.labels)
    assert torch.equal(images_of(again.test), images_of(test))


def test_open_images_from_a_folder_are_brought_to_size(
    cifar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmarks, "OPEN_TEST_IMAGES", 2)
    random = np.random.default_rng(0)
    for index in range(6):
        folder = tmp_path / "open" / f"kind{index % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (40, 50, 3), dtype=np.uint8)).save(folder / f"{index}.png")
    benchmark = with_open(cifar, tmp_path / "open", count=3, name="cifar10n")
    assert images_of(benchmark.train).shape == (53, 3, 32, 32)
    assert images_of(benchmark.test).shape == (22, 3, 32, 32)
    assert benchmark.train.num_classes == 10


def test_too_few_open_images_or_no_source(cifar: Path, tmp_path: Path) -> None:
    open_npz(tmp_path / "open.npz")
    with pytest.raises(DataError, match=r"open\.npz holds 30 images; 10020 are needed"):
        with_open(cifar, tmp_path / "open.npz")
    with pytest.raises(DataError, match=re.escape(str(tmp_path / "missing.npz"))):
        with_open(cifar, tmp_path / "missing.npz")
    with pytest.raises(ConfigError, match="open_source"):
        load_benchmark(BenchmarkSettings("cifar100n", str(cifar), open_images=3))


def test_nominal_rate_counts_open_images(cifar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "OPEN_TEST_IMAGES", 10)
    open_npz(tmp_path / "open.npz")
    nominal = with_open(cifar, tmp_path / "open.npz").manifest["nominal"]
    assert nominal["overall"] == pytest.approx(20 / 320 + 300 / 320 * 0.5)


def test_grey_open_images_are_made_colour(cifar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "OPEN_TEST_IMAGES", 2)
    np.savez(tmp_path / "grey.npz", x=np.zeros((9, 32, 32), dtype=np.uint8), y=np.arange(9) % 2)
    benchmark = with_open(cifar, tmp_path / "grey.npz", count=3)
    (images,) = benchmark.train.pixels.stream([Request(torch.arange(len(benchmark.train) - 3, len(benchmark.train)))])
    assert images.shape == (1, 3, 3, 32, 32)
    assert not images.any()


# Web data


def web_folder(root: Path, name: str, splits: tuple[str, ...] = ("train", "val"), classes: int = 3) -> Path:
    for split in splits:
        for label in range(classes):
            folder = root / name / split / f"{label:03d}.kind"
            folder.mkdir(parents=True)
            for index in range(2):
                Image.new("RGB", (30, 24), (40 * label, index, 9)).save(folder / f"{index}.jpg")
    return root / name


@pytest.fixture
def three_birds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTENTS, "web-bird", Extent(6, 6, classes=3))


@pytest.mark.usefixtures("three_birds")
def test_web_layout(tmp_path: Path) -> None:
    web_folder(tmp_path, "web-bird")
    benchmark = load_benchmark(BenchmarkSettings("web-bird", str(tmp_path), image_size=16))
    assert benchmark.train.class_names == ("000.kind", "001.kind", "002.kind")
    assert benchmark.train.labels.tolist() == benchmark.test.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert benchmark.train.pixels.size == (16, 16)
    assert benchmark.train.true_labels is None
    assert not set(benchmark.train.ids) & set(benchmark.test.ids)


@pytest.mark.usefixtures("three_birds")
def test_unknown_images_of_the_web_cannot_be_left_out(tmp_path: Path) -> None:
    web_folder(tmp_path, "web-bird")
    with pytest.raises(ConfigError, match="nothing to leave out: web-bird has no known truth"):
        load_benchmark(BenchmarkSettings("web-bird", str(tmp_path), image_size=16, train_on_unknown=False))


@pytest.mark.usefixtures("three_birds")
def test_web_folders_with_a_part_missing_are_named(tmp_path: Path) -> None:
    web_folder(tmp_path / "a", "web-bird", splits=("train",))
    with pytest.raises(DataError, match=re.escape(str(tmp_path / "a" / "web-bird"))):
        load_benchmark(BenchmarkSettings("web-bird", str(tmp_path / "a"), image_size=16))
    web_folder(tmp_path / "b", "web-bird", classes=2)
    with pytest.raises(DataError, match="holds 2 class folders; web-bird has 3"):
        load_benchmark(BenchmarkSettings("web-bird", str(tmp_path / "b"), image_size=16))


@pytest.mark.usefixtures("three_birds")
def test_web_folder_without_splits_is_refused(tmp_path: Path) -> None:
    web_folder(tmp_path, "x", splits=("web-bird",))
    with pytest.raises(DataError, match="train"):
        load_benchmark(BenchmarkSettings("web-bird", str(tmp_path / "x"), image_size=16))


# Missing data


@pytest.mark.parametrize("name", sorted(set(BENCHMARKS) - {"digits"}))
def test_missing_data_names_the_place_and_the_source(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError) as caught:
        load_benchmark(BenchmarkSettings(name, root=str(tmp_path / "void")))
    assert str(tmp_path / "void") in str(caught.value)
    assert "https://" in str(caught.value)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ConfigError, match="cifar80n"):
        load_benchmark(BenchmarkSettings("cifar81n"))
