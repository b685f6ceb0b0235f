"""Hashes of content and prints of looks, from files, arrays and other libraries' datasets."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lond.data.pixels import ArrayPixels, subset
from lond.data.read.files import FilePixels
from lond.data.read.wrapped import DatasetPixels
from lond.frozen.hashes import content_hashes, looks_of
from lond.types import UNLABELLED, Pixels, Samples


def samples_of(pixels: Pixels) -> Samples:
    count = len(pixels)
    return Samples(pixels, torch.full((count,), UNLABELLED), (), tuple(str(number) for number in range(count)))


def picture(seed: int, side: int = 32) -> Image.Image:
    """Return a smooth picture, as photographs are."""
    noise = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((side, side), Image.Resampling.BICUBIC)


def files(folder: Path) -> list[Path]:
    paths = [folder / name for name in ("a.png", "b.png", "copy.png", "empty.png", "missing.png", "folder.png")]
    picture(0).save(paths[0])
    picture(1).save(paths[1])
    paths[2].write_bytes(paths[0].read_bytes())
    paths[3].touch()
    paths[5].mkdir()
    return paths


def test_hashes_of_files_are_those_of_their_bytes(tmp_path: Path) -> None:
    paths = files(tmp_path)
    calls: list[tuple[int, int]] = []
    pixels = FilePixels(paths, 8, num_workers=0)
    hashes = content_hashes(samples_of(pixels), lambda *call: calls.append(call))
    assert hashes[:3] == [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths[:3]]
    assert hashes[0] == hashes[2] != hashes[1]
    assert hashes[3:] == ["", "", ""]
    assert calls == [(done, 6) for done in range(1, 7)]


def test_a_view_of_files_and_what_is_known_to_be_unreadable(tmp_path: Path) -> None:
    paths = [*files(tmp_path)[:2], tmp_path / "bad.png", tmp_path / "bad2.png"]
    for path in paths[2:]:
        path.write_bytes(b"not an image")
    pixels = FilePixels(paths, 8, num_workers=0)
    whole = content_hashes(samples_of(pixels))
    assert whole[2] == whole[3] != ""
    looks_of(samples_of(pixels))
    assert content_hashes(samples_of(pixels)) == [*whole[:2], "", ""]
    assert content_hashes(samples_of(subset(pixels, [2, 1, 0]))) == ["", whole[1], whole[0]]


def test_hashes_of_arrays_are_those_of_the_pixels() -> None:
    images = torch.randint(0, 256, (300, 3, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    images[299] = images[1]
    calls: list[tuple[int, int]] = []
    hashes = content_hashes(samples_of(ArrayPixels(images)), lambda *call: calls.append(call))
    assert hashes[299] == hashes[1] and len(set(hashes)) == 299
    assert calls == [(256, 300), (300, 300)]
    flat = content_hashes(samples_of(ArrayPixels(torch.zeros(1, 2, 8, dtype=torch.uint8))))
    assert flat != content_hashes(samples_of(ArrayPixels(torch.zeros(1, 4, 4, dtype=torch.uint8))))


def test_unreadable_items_of_a_dataset_have_no_hash() -> None:
    items = [(picture(0), 0), (None, 0), (picture(0), 0), (None, 0)]
    hashes = content_hashes(samples_of(DatasetPixels(items, 16)))
    assert hashes[0] == hashes[2] != ""
    assert hashes[1] == hashes[3] == ""


def test_no_images() -> None:
    none = samples_of(ArrayPixels(torch.zeros(0, 3, 4, 4, dtype=torch.uint8)))
    assert content_hashes(none) == []
    looks = looks_of(none)
    assert (looks.bits.shape, looks.small.shape, looks.vectors().shape) == ((0, 64), (0, 768), (0, 768))


def test_looks_bear_compression_and_scaling_but_not_another_picture() -> None:
    pictures = [picture(seed) for seed in range(12)]
    changed = []
    for image in pictures:
        buffer = io.BytesIO()
        image.resize((40, 40), Image.Resampling.BILINEAR).save(buffer, "JPEG", quality=70)
        changed.append(Image.open(io.BytesIO(buffer.getvalue())).convert("RGB").point(lambda value: value * 0.9))
    first, second = (looks_of(samples_of(DatasetPixels([(i, 0) for i in p], 32))) for p in (pictures, changed))
    distances = (first.bits[:, None] != second.bits[None]).sum(dim=2)
    others = ~torch.eye(12, dtype=torch.bool)
    assert distances.diag().max() <= 4
    assert distances[others].min() > 10
    one, other = first.vectors(), second.vectors()
    assert (one * other).sum(dim=1).min() > 0.98
    assert (one @ other.T)[others].max() < 0.9


@pytest.mark.parametrize("shape", [(2, 1, 3, 5), (2, 3, 9, 9)])
def test_looks_of_small_images_by_hand(shape: tuple[int, ...]) -> None:
    falling = torch.arange(shape[-1], 0, -1, dtype=torch.uint8).expand(shape[1:]) * 10
    images = torch.stack([falling, falling.flip(-1)])
    bits = looks_of(samples_of(ArrayPixels(images, layout="NCHW"))).bits
    assert bits[0].any() and not bits[1].any()
    assert shape[-1] < 9 or bits[0].all()


def test_small_pictures_by_hand() -> None:
    grey = torch.zeros(1, 1, 32, 32, dtype=torch.uint8)
    grey[..., :2, :2] = torch.tensor([[10, 20], [30, 41]])
    small = looks_of(samples_of(ArrayPixels(grey, layout="NCHW"))).small.view(3, 16, 16)
    assert small[:, 0, 0].tolist() == [25, 25, 25]
    assert int(small.sum()) == 75
