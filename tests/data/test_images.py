"""The zoo of image files: odd but good ones decode, bad ones give a reason."""

import io
import os
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import PIL
import pytest
from PIL import Image

from lond.data import images
from lond.data.images import (
    ORIENTATION,
    EncodedImage,
    PictureExtent,
    UnreadableImage,
    check_file,
    decode,
    decode_bytes,
    short_side,
)


def _noise(width: int = 40, height: int = 30) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8))


def _encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM", "TIFF"])
def test_lossless_formats_are_exact_whatever_the_extension(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "picture.jpg"
    path.write_bytes(_encoded(_noise(), kind))
    assert np.array_equal(np.asarray(decode(path)), np.asarray(_noise()))
    assert check_file(path) is None


def test_cmyk_becomes_rgb() -> None:
    image = decode_bytes(_encoded(Image.new("RGB", (8, 8), (255, 0, 0)).convert("CMYK"), "JPEG", quality=95))
    red, green, blue = np.asarray(image)[4, 4].tolist()
    assert image.mode == "RGB" and red > 200 and green < 60 and blue < 60


def test_sixteen_bit_grey_is_scaled_not_clipped() -> None:
    values = np.array([[0, 257 * 100, 65535]], dtype=np.uint16)
    for kind in ("PNG", "TIFF"):
        assert np.asarray(decode_bytes(_encoded(Image.fromarray(values), kind)))[0, :, 0].tolist() == [0, 100, 255]


def test_float_tiff_is_scaled() -> None:
    values = np.array([[0.0, 0.5, 1.0, np.nan]], dtype=np.float32)
    assert np.asarray(decode_bytes(_encoded(Image.fromarray(values), "TIFF")))[0, :, 0].tolist() == [0, 128, 255, 0]
    values = np.array([[0.0, 20.0, 255.0]], dtype=np.float32)
    assert np.asarray(decode_bytes(_encoded(Image.fromarray(values), "TIFF")))[0, :, 1].tolist() == [0, 20, 255]


@pytest.mark.parametrize("mode", ["1", "L", "P", "YCbCr", "LAB", "RGBA", "LA"])
def test_any_mode_becomes_rgb(mode: str) -> None:
    if mode == "YCbCr" and int(PIL.__version__.split(".")[0]) < 13:
        pytest.skip("Pillow before 13 cannot read the TIFF files of this mode that it wrote")
    kind = "TIFF" if mode in ("YCbCr", "LAB") else "PNG"
    source = (
        Image.new(mode, (6, 5)) if mode == "LAB" else _noise(6, 5).convert("L" if mode == "1" else "RGB").convert(mode)
    )
    image = decode_bytes(_encoded(source, kind))
    assert (image.mode, image.size) == ("RGB", (6, 5))


def test_transparency_is_laid_on_white() -> None:
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.putpixel((1, 1), 1)
    pixels = np.asarray(decode_bytes(_encoded(palette, "PNG", transparency=0)))
    assert pixels[0, 0].tolist() == [255, 255, 255]
    assert pixels[1, 1].tolist() == [255, 0, 0]
    assert np.asarray(decode_bytes(_encoded(Image.new("RGBA", (2, 2), (9, 9, 9, 0)), "PNG"))).min() == 255


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_first_frame_of_an_animation(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    options = {"lossless": True} if kind == "WEBP" else {}
    content = _encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    assert np.asarray(decode_bytes(content))[4, 4].tolist() == [255, 0, 0]


def test_exif_rotation_is_applied_and_bad_exif_ignored() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode_bytes(_encoded(_noise(40, 30), "JPEG", exif=exif)).size == (30, 40)
    assert decode_bytes(_encoded(_noise(40, 30), "JPEG", exif=b"Exif\x00\x00garbage")).size == (40, 30)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
@pytest.mark.parametrize("keep", [0.02, 0.3, 0.6])
def test_truncated_files_give_a_reason(tmp_path: Path, kind: str, keep: float) -> None:
    content = _encoded(_noise(), kind)
    path = tmp_path / "cut"
    path.write_bytes(content[: max(1, int(keep * len(content)))])
    assert check_file(path)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "TIFF", "BMP"])
def test_files_that_end_early_are_called_cut_off(tmp_path: Path, kind: str) -> None:
    content = _encoded(_noise(), kind)
    path = tmp_path / "cut"
    path.write_bytes(content[: int(0.6 * len(content))])
    assert check_file(path) == "the file is cut off: its end is missing"


def test_scrambled_bytes_never_escape_as_other_errors() -> None:
    rng = np.random.default_rng(0)
    for kind in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "TGA", "ICO", "PCX"):
        original = np.frombuffer(_encoded(_noise(), kind), dtype=np.uint8)
        for _ in range(60):
            content = original.copy()
            content[rng.integers(0, len(content), 8)] = rng.integers(0, 256, 8)
            try:
                decode_bytes(content.tobytes(), max_pixels=10_000_000)
            except UnreadableImage as error:
                assert error.reason


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "empty"), (b"hello, world" * 50, "not an image"), (b"\xff\xd8\xff\xe0", "")]
)
def test_no_image_at_all(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    assert reason in str(check_file(path))
    with pytest.raises(UnreadableImage):
        decode(path)
    assert short_side(path) is None


def _png_header(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [10_000, 60_000])
@pytest.mark.filterwarnings("error")
def test_decompression_bombs_are_too_large(side: int) -> None:
    with pytest.raises(UnreadableImage, match="too large"):
        decode_bytes(_png_header(side, side))


def test_the_limit_is_an_argument_and_draft_spares_large_jpegs() -> None:
    content = _encoded(Image.new("RGB", (1600, 1600), "green"), "JPEG")
    with pytest.raises(UnreadableImage, match="1600 x 1600"):
        decode_bytes(content, max_pixels=1_000_000)
    assert decode_bytes(content, max_pixels=1_000_000, min_side=100).size == (200, 200)


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert check_file(tmp_path) == "not a regular file"
    assert check_file(tmp_path / "pipe") == "not a regular file"
    assert check_file(tmp_path / "absent") == "no such file"
    assert check_file(tmp_path / ("x" * 5000)) is not None
    assert check_file("null\0byte") is not None


def test_unreadable_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.png").write_bytes(b"x")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert check_file(tmp_path / "a.png") == "cannot be read (Permission denied)"


def test_the_header_tells_sides_and_several_pictures() -> None:
    def encoded(kind: str, **options: object) -> EncodedImage:
        file = io.BytesIO()
        Image.new("RGB", (6, 4), "red").save(file, kind, **options)
        return EncodedImage(file.getvalue())

    assert encoded("PNG").extent() == PictureExtent(6, 4)
    turned = Image.Exif()
    turned[ORIENTATION] = 6
    assert encoded("JPEG", exif=turned).extent() == PictureExtent(4, 6)
    more = [Image.new("RGB", (6, 4), "blue")]
    assert encoded("GIF", save_all=True, append_images=more).extent() == PictureExtent(6, 4, several=True)
    assert EncodedImage(b"nonsense").extent() == EncodedImage(b"").extent() == PictureExtent(0, 0)


def test_threads_that_decode_leave_the_warnings_as_they_were() -> None:
    odd = io.BytesIO()
    Image.new("P", (4, 4)).save(odd, "PNG", transparency=b"\x00\x80")
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as threads:
        sizes = {picture.size for picture in threads.map(lambda _: decode_bytes(odd.getvalue()), range(200))}
    assert sizes == {(4, 4)} and list(warnings.filters) == before


def test_decoders_are_silent_and_others_are_not() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with images._SILENCE:
            warnings.warn_explicit("of a decoder", UserWarning, "Image.py", 1, module="PIL.Image")
            warnings.warn_explicit("of another", UserWarning, "other.py", 1, module="other")
    assert [str(warning.message) for warning in heard] == ["of another"]
