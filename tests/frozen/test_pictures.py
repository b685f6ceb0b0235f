"""What is made of each image: the same as by reading it once for each purpose."""

from __future__ import annotations

import hashlib
import io
import math
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

import lond.frozen.pictures as module
from lond.audit.copies.near import NearSettings, look_alike
from lond.data import images
from lond.data.images import decode
from lond.data.pixels import ArrayPixels, subset
from lond.data.read.files import FilePixels
from lond.data.read.wrapped import DatasetPixels
from lond.data.resized import at_side
from lond.frozen.hashes import perceptual_hashes, pixel_hash
from lond.frozen.measures import measure_picture
from lond.frozen.pictures import LOSSLESS, THUMBNAIL, Part, Wanted, base_of, read_parts, thumbnail_of
from lond.types import Pixels, Request

EVERYTHING = Wanted(input_side=40, perceptual=True, thumbnails=True)
SIZES = [(50, 37), (24, 24), (700, 500), (16, 300), (2000, 1000)]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("images")
    found = []
    for number, size in enumerate(SIZES):
        noise = np.random.default_rng(number).integers(0, 256, (6, 6, 3), dtype=np.uint8)
        found.append(root / f"{number}.jpg")
        Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC).save(found[-1])
    return found


def squares(pixels: Pixels, side: int) -> torch.Tensor:
    (images,) = at_side(pixels, side).stream([Request(torch.arange(len(pixels)))])
    return images[0]


def read(pixels: Pixels, wanted: Wanted = EVERYTHING) -> Part:
    (part,) = read_parts(pixels, wanted)
    return part


def inputs(*parts: Part) -> torch.Tensor:
    return torch.stack([image for part in parts for image in part.inputs])


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_files_give_what_each_would_be_read_for(paths: list[Path], channels: int, workers: int) -> None:
    pixels = FilePixels(paths, 24, channels=channels, num_workers=workers)
    part = read(pixels)
    assert part.hashes == [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    assert part.input_rows == part.picture_rows == [0, 1, 2, 3, 4]
    # What training reads is resized by Pillow, and differs by one level at most.
    assert (inputs(part).int() - squares(pixels, 40).int()).abs().max() <= 1
    # All from the picture that is large enough for the network; the hash from the whole of it, squeezed.
    small = [
        decode(path, min_side=40).convert("L" if channels == 1 else "RGB").resize((24, 24), Image.Resampling.BILINEAR)
        for path in paths
    ]
    shown = torch.stack(
        [torch.from_numpy(np.array(square).reshape(24, 24, channels)).permute(2, 0, 1) for square in small]
    )
    expected = perceptual_hashes(shown)
    assert torch.equal(part.perceptual.bits, expected.bits)
    assert (part.perceptual.small.int() - expected.small.int()).abs().max() <= 1
    for path, stored in zip(paths, part.thumbnails, strict=True):
        whole = decode(path, min_side=40)
        whole.thumbnail((THUMBNAIL, THUMBNAIL))
        difference = np.asarray(Image.open(io.BytesIO(stored)), dtype=float) - np.asarray(whole)
        assert np.abs(difference).mean() <= (0 if max(whole.size) <= LOSSLESS else 8)
    for path, size, measures in zip(paths, SIZES, part.measures, strict=True):
        assert np.array_equal(measures, measure_picture(decode(path, min_side=40), *size))


@pytest.mark.parametrize("workers", [0, 3])
def test_whole_pictures_are_seen_to_their_ends(paths: list[Path], workers: int) -> None:
    pixels = FilePixels(paths, 24, num_workers=workers)
    centre, whole = read(pixels), read(pixels, replace(EVERYTHING, whole=True))
    for path, found in zip(paths, whole.inputs, strict=True):
        padded = ImageOps.pad(decode(path), (40, 40), Image.Resampling.BILINEAR, color=(128, 128, 128))
        difference = np.abs(found.permute(1, 2, 0).numpy() - np.asarray(padded).astype(int))
        # A large JPEG file is decoded at half its size.
        assert difference.max() <= (1 if max(decode(path).size) < 160 else 8)
    assert whole.hashes == centre.hashes and torch.equal(whole.perceptual.small, centre.perceptual.small)


def test_threads_keep_the_order_and_stop_with_the_reader(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 4)
    many = [paths[number % 4] for number in range(50)]
    alone, together = (list(read_parts(FilePixels(many, 24, num_workers=workers), EVERYTHING)) for workers in (0, 4))
    assert [part.hashes for part in together] == [part.hashes for part in alone]
    assert torch.equal(inputs(*together), inputs(*alone))
    parts = read_parts(FilePixels(many, 24, num_workers=2), EVERYTHING)
    next(parts)
    assert any(thread.name.startswith("lond-read") for thread in threading.enumerate())
    parts.close()
    assert not any(thread.name.startswith("lond-read") for thread in threading.enumerate())


def test_each_file_is_decoded_once_however_large(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[tuple[int, int]] = []
    real = images._converted
    monkeypatch.setattr(images, "_converted", lambda image, *rest: decoded.append(image.size) or real(image, *rest))
    read(FilePixels(paths, 24, num_workers=2), Wanted(input_side=200, perceptual=True, thumbnails=True))
    assert len(decoded) == len(paths)


def test_what_is_known_is_not_decoded(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = FilePixels(paths, 24, num_workers=0)
    hashes = read(pixels).hashes
    known = Wanted(40, False, math.inf, True, True, frozenset(hashes), frozenset(hashes))
    monkeypatch.setattr("lond.data.images._converted", None)
    part = read(pixels, known)
    assert part.hashes == hashes
    assert not (len(part.inputs) or len(part.perceptual.bits) or part.thumbnails or part.reasons)
    assert read(subset(pixels, [3, 1]), known).hashes == [hashes[3], hashes[1]]


def test_unreadable_files_have_reasons(paths: list[Path], tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    (tmp_path / "bad.png").write_bytes(b"not an image")
    (tmp_path / "folder.png").mkdir()
    bad = [tmp_path / name for name in ("empty.png", "bad.png", "folder.png", "missing.png")]
    part = read(FilePixels([bad[0], paths[0], *bad[1:]], 24, num_workers=0))
    assert [bool(content) for content in part.hashes] == [False, True, False, False, False]
    assert part.reasons == {
        0: "empty file (0 bytes)",
        2: "not an image in a known format",
        3: "not a regular file",
        4: "no such file",
    }
    assert part.input_rows == part.picture_rows == [1]


def test_items_of_a_dataset_are_hashed_by_their_squares() -> None:
    item = Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8))
    pixels = DatasetPixels([(item, 0), (None, 0), (item, 0)], 16)
    part = read(pixels)
    assert part.hashes[0] == part.hashes[2] == pixel_hash(squares(pixels, 16)[0])
    assert part.hashes[1] == "" and list(part.reasons) == [1]
    assert Image.open(io.BytesIO(part.thumbnails[0])).size == (30, 20)


def test_items_that_differ_at_their_ends_are_not_the_same_if_they_are_seen_whole() -> None:
    items = np.full((2, 16, 48, 3), 90, dtype=np.uint8)
    items[1, :, :8] = 200
    pixels = DatasetPixels([(Image.fromarray(item), 0) for item in items], 16)
    assert len(set(read(pixels).hashes)) == 1
    for changes in ({"whole": True}, {"squares_beyond": 2.9}):
        to_ends = read(pixels, replace(EVERYTHING, **changes))
        first, second = to_ends.inputs[0], to_ends.inputs[len(to_ends.inputs) // 2]
        assert len(set(to_ends.hashes)) == 2 and not torch.equal(first, second)


@pytest.mark.parametrize("upright", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_long_pictures_are_seen_in_three_squares(tmp_path: Path, workers: int, upright: bool) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 45, 3), dtype=np.uint8))
    shapes = [noise.crop((0, 0, 40, 20)), noise, noise.crop((0, 0, 20, 20))]
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path, picture in zip(paths, shapes, strict=True):
        (picture.transpose(Image.Transpose.TRANSPOSE) if upright else picture).save(path)
    wanted = replace(EVERYTHING, input_side=20, squares_beyond=2)
    pixels = FilePixels(paths, 20, num_workers=workers)
    part = read(pixels, wanted)
    assert part.input_rows == [0, 1, 1, 1, 2] and len(part.hashes) == 3
    for found, left in zip(part.inputs[1:4], (0, 12, 25), strict=True):
        expected = torch.from_numpy(np.array(noise)[:, left : left + 20]).permute(2, 0, 1)
        assert torch.equal(found, expected.transpose(1, 2) if upright else expected)
    alone = read(pixels, replace(EVERYTHING, input_side=20))
    assert torch.equal(inputs(alone), inputs(part)[[0, 2, 4]])


def test_pictures_with_the_same_centre_look_different_by_their_ends(tmp_path: Path) -> None:
    paths = [tmp_path / "left.png", tmp_path / "right.png"]
    for path, left in zip(paths, (0, 200), strict=True):
        picture = Image.linear_gradient("L").resize((240, 60)).convert("RGB")
        picture.paste((200, 30, 30), (left, 10, left + 40, 50))
        picture.save(path)
    part = read(FilePixels(paths, 24, num_workers=0))
    assert torch.equal(part.inputs[0], part.inputs[1])
    one, other = torch.tensor([0]), torch.tensor([1])
    assert not look_alike(part.perceptual, one, part.perceptual, other, NearSettings()).any()


def test_arrays_are_seen_as_they_are() -> None:
    images = torch.randint(0, 256, (70, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    first, second = read_parts(ArrayPixels(images), EVERYTHING)
    assert first.hashes + second.hashes == [pixel_hash(image) for image in images]
    assert torch.equal(inputs(first, second), images)
    assert torch.equal(second.perceptual.small, perceptual_hashes(images[64:]).small)
    assert [part.hashes for part in read_parts(ArrayPixels(images[:0]), EVERYTHING)] == [[]]


def test_thumbnails_read_anew(paths: list[Path], tmp_path: Path) -> None:
    files = FilePixels([*paths, tmp_path / "missing.png"], 24, num_workers=0)
    found = thumbnail_of(subset(files, [2, 0]), 0)
    assert found is not None and found.size == (88, 63)
    assert thumbnail_of(files, 5) is None
    grey = thumbnail_of(ArrayPixels(torch.full((2, 1, 4, 4), 7, dtype=torch.uint8)), 1)
    assert grey is not None and grey.getpixel((0, 0)) == (7, 7, 7)


def test_views_of_views_lead_to_the_images() -> None:
    pixels = ArrayPixels(torch.zeros(4, 1, 2, 2, dtype=torch.uint8))
    assert base_of(pixels) == (pixels, [0, 1, 2, 3])
    view = subset(FilePixels(["a", "b", "c"], 8), [2, 0])
    assert base_of(subset(view, [1]))[1] == [0]
