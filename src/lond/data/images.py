"""One image file, decoded safely: either an RGB picture or a reason why not."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from lond.errors import DataError

MAX_PIXELS = 89_478_485
"""Largest picture that is decoded, in pixels; Pillow itself refuses more than about twice as many."""

IMAGE_SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in (
        *("apng", "avif", "bmp", "gif", "jfif", "jpe", "jpeg", "jpg", "pbm"),
        *("pgm", "png", "pnm", "ppm", "tga", "tif", "tiff", "webp"),
    )
)
"""Endings of files that are taken for images without looking inside."""

# Decoders meet damaged and hostile bytes unprepared, so they raise nearly anything.
_DECODER_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, struct.error, zlib.error, Image.DecompressionBombError),
)

_WHITE = (255, 255, 255, 255)


class UnreadableImage(DataError):  # noqa: N818 - a state of the file rather than a fault of the program
    """A file that cannot be decoded to a picture."""

    def __init__(self, reason: str) -> None:
        """Keep the reason, which is fit for a report."""
        super().__init__(reason)
        self.reason = reason


def _sixteen_bit_to_eight(image: Image.Image) -> Image.Image:
    values = np.asarray(image).astype(np.float64)
    return Image.fromarray(np.clip(values / 257, 0, 255).round().astype(np.uint8))


def _float_to_eight(image: Image.Image) -> Image.Image:
    values = np.nan_to_num(np.asarray(image).astype(np.float64))
    top = values.max(initial=0.0)
    scale = 255.0 if top <= 1 else (1.0 if top <= 255 else 255 / top)
    return Image.fromarray(np.clip(values * scale, 0, 255).round().astype(np.uint8))


def to_rgb(image: Image.Image) -> Image.Image:
    """Return a picture of any mode as RGB: deep grey is scaled to 8 bits, transparency is laid on white."""
    if image.mode.startswith("I"):
        image = _sixteen_bit_to_eight(image)
    elif image.mode == "F":
        image = _float_to_eight(image)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, _WHITE), image)
    return image if image.mode == "RGB" else image.convert("RGB")


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except _DECODER_ERRORS:
        # Damaged EXIF data do not spoil the picture.
        return image


def _check_extent(image: Image.Image, max_pixels: int) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise UnreadableImage("the picture has no pixels")
    if width * height > max_pixels:
        raise UnreadableImage(f"too large: {width} x {height} is more than {max_pixels:,} pixels")


def _open_and_convert(content: bytes, max_pixels: int, min_side: int | None) -> Image.Image:
    with warnings.catch_warnings():
        # Size is judged below, and oddities of metadata do not matter.
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(content)) as image:
            if min_side is not None:
                # JPEG can decode at 1/2, 1/4 or 1/8 size; twice the wanted side keeps the later resize faithful.
                image.draft("RGB", (2 * min_side, 2 * min_side))
            _check_extent(image, max_pixels)
            image.load()
            return to_rgb(_upright(image))


def _explain(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "not an image in a known format"
    if isinstance(error, Image.DecompressionBombError):
        return "too large: more pixels than Pillow agrees to decode"
    text = " ".join(str(error).split())[:200]
    return f"damaged image ({text or type(error).__name__})"


def decode_bytes(content: bytes, *, max_pixels: int = MAX_PIXELS, min_side: int | None = None) -> Image.Image:
    """Return the (first) picture in the bytes of an image file as upright RGB.

    ``min_side`` is the side that the caller will shrink to; it lets huge JPEG files decode at reduced size.

    Raises:
        UnreadableImage: with the reason.
    """
    if not content:
        raise UnreadableImage("empty file (0 bytes)")
    try:
        return _open_and_convert(content, max_pixels, min_side)
    except UnreadableImage:
        raise
    except _DECODER_ERRORS as error:
        raise UnreadableImage(_explain(error)) from error


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        UnreadableImage: if it is missing, no regular file or not allowed to be read.
    """
    try:
        # A pipe or device would block for ever or never end.
        if not Path(path).is_file():
            raise UnreadableImage("no such file" if not Path(path).exists() else "not a regular file")
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableImage(f"cannot be read ({reason})") from error


def decode(path: str | Path, *, max_pixels: int = MAX_PIXELS, min_side: int | None = None) -> Image.Image:
    """Return the (first) picture in an image file as upright RGB, whatever its extension says.

    Raises:
        UnreadableImage: with the reason; see ``decode_bytes`` for the arguments.
    """
    return decode_bytes(read_bytes(path), max_pixels=max_pixels, min_side=min_side)


def check_file(path: str | Path, *, max_pixels: int = MAX_PIXELS) -> str | None:
    """Return why a file cannot be decoded, or None if it can; decodes all of it."""
    try:
        decode(path, max_pixels=max_pixels)
    except UnreadableImage as error:
        return error.reason
    return None


def short_side(path: str | Path) -> int | None:
    """Return the shorter side of the picture from the file's header alone, or None if there is no picture."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path) as image:
                return min(image.size)
    except _DECODER_ERRORS:
        return None
