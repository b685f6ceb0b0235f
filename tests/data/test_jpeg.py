"""JPEG files decoded by simplejpeg: the pixels that Pillow gives, and Pillow itself for whatever is not plain."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from lond.data import jpeg
from lond.data.images import ORIENTATION, EncodedImage, UnreadableImage
from lond.data.jpeg import Decoded, quick_jpeg


def noise(width: int, height: int) -> Image.Image:
    values = np.random.default_rng(0).integers(0, 256, (height // 5 + 1, width // 5 + 1, 3), dtype=np.uint8)
    return Image.fromarray(values).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    return file.getvalue()


def by_pillow(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def quick(content: bytes) -> np.ndarray | None:
    return quick_jpeg(Image.open(io.BytesIO(content)), content)


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("extent", [(50, 37), (16, 16), (1, 9), (131, 200)])
def test_pixels_are_those_of_pillow(extent: tuple[int, int], progressive: bool, subsampling: str) -> None:
    pytest.importorskip("simplejpeg")
    for quality in (30, 88, 100):
        content = encoded(noise(*extent), quality=quality, progressive=progressive, subsampling=subsampling)
        found = quick(content)
        assert found is not None and found.dtype == np.uint8
        assert np.array_equal(found, by_pillow(content))


def test_pictures_and_pixels_are_the_same_with_and_without_the_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encoded(noise(60, 45))
    first = EncodedImage(content)
    assert np.array_equal(np.asarray(first.picture()), first.pixels())
    assert first.pixels() is first.pixels() and first.picture() is first.picture()
    monkeypatch.setattr(jpeg, "_simplejpeg", lambda: None)
    second = EncodedImage(content)
    assert quick(content) is None
    assert np.array_equal(second.pixels(), first.pixels()) and second.picture().mode == first.picture().mode == "RGB"


def test_pillow_decodes_what_is_not_plain() -> None:
    whole = noise(40, 30)
    png = io.BytesIO()
    whole.save(png, "PNG")
    for content in (encoded(whole.convert("L")), encoded(whole.convert("CMYK")), png.getvalue()):
        assert quick(content) is None
        assert EncodedImage(content).pixels().shape == (30, 40, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_images_are_upright(orientation: int) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    content = encoded(noise(40, 30), exif=exif)
    found = EncodedImage(content)
    assert found.pixels().shape == ((40, 30, 3) if orientation > 4 else (30, 40, 3))
    assert np.array_equal(found.pixels(), np.asarray(found.picture()))
    if orientation == 1:
        assert np.array_equal(found.pixels(), by_pillow(content))


def test_damaged_exif_data_do_not_spoil_the_pixels() -> None:
    content = encoded(noise(40, 30), exif=b"Exif\x00\x00MM\x00\x2a\xff\xff\xff\xff")
    assert np.array_equal(EncodedImage(content).pixels(), by_pillow(content))


def test_large_images_are_decoded_at_reduced_size() -> None:
    content = encoded(noise(800, 600))
    assert EncodedImage(content).pixels(100).shape == (300, 400, 3)
    assert np.array_equal(EncodedImage(content).pixels(100), np.asarray(EncodedImage(content).picture(100)))


def test_damaged_files_are_left_to_pillow() -> None:
    content = encoded(noise(64, 64), quality=90)
    cut = content[: len(content) // 2]
    assert quick(cut) is None
    with pytest.raises(UnreadableImage, match="truncated"):
        EncodedImage(cut).pixels()
    with pytest.raises(UnreadableImage, match="empty file"):
        EncodedImage(b"").pixels()


def test_either_form_is_made_of_the_other() -> None:
    picture = noise(9, 7)
    pixels = np.array(picture)
    assert Decoded(picture).picture is picture and np.array_equal(Decoded(picture).pixels, pixels)
    assert Decoded(pixels).pixels is pixels and np.array_equal(np.asarray(Decoded(pixels).picture), pixels)
