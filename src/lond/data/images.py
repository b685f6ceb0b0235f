"""One image file, decoded safely: either an RGB picture or a reason why not."""

from __future__ import annotations

import hashlib
import io
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from lond.errors import DataError

MAX_PIXELS = 89_478_485
"""Largest picture that is decoded, in pixels; Pillow itself refuses more than about twice as many."""

MAX_BYTES = 1 << 30
"""Largest file that is read; what Pillow decodes is smaller, unless it is no picture at all."""

GIGANTIC = 1 << 24
"""Pictures of more pixels are converted and shrunk strip by strip, so that memory holds them once."""

_STRIP = 1 << 20
"""Pixels of one such strip, roughly."""

IMAGE_SUFFIXES = frozenset(
    f".{suffix}"
    for suffix in (
        *("apng", "avif", "bmp", "gif", "jfif", "jpe", "jpeg", "jpg", "pbm"),
        *("pgm", "png", "pnm", "ppm", "tga", "tif", "tiff", "webp"),
    )
)
"""Endings of files that are taken for images without looking inside."""

EMPTY_FILE = "empty file (0 bytes)"

# Decoders meet damaged and hostile bytes unprepared, so they raise nearly anything.
_DECODER_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, struct.error, zlib.error, Image.DecompressionBombError),
)

ORIENTATION = 0x0112
"""Number of the EXIF entry for the orientation of an image."""

_WHITE = (255, 255, 255, 255)


class _Silence:
    """Silences warnings of decoders while at least one thread decodes; ``warnings`` itself serves one thread only."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._former = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._former = warnings.catch_warnings()
                self._former.__enter__()
                # Others may warn meanwhile.
                warnings.filterwarnings("ignore", module=r"PIL\b|lond\.data\.images$")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._former.__exit__(None, None, None)


_SILENCE = _Silence()


class UnreadableImage(DataError):  # noqa: N818 - a state of the file rather than a fault of the program
    """A file that cannot be decoded to a picture."""

    def __init__(self, reason: str) -> None:
        """Keep the reason, which is fit for a report."""
        super().__init__(reason)
        self.reason = reason


def _strips(image: Image.Image, rows: int) -> Iterator[tuple[int, Image.Image]]:
    """Yield (first row, part of the picture) from top to bottom; one part if it has no more rows."""
    width, height = image.size
    if rows >= height:
        yield 0, image
        return
    for top in range(0, height, rows):
        yield top, image.crop((0, top, width, min(height, top + rows)))


def _white(image: Image.Image) -> float | None:
    """Return the value that is shown as white; None for pictures of 8 bits, whose white is fixed."""
    if image.mode.startswith("I;16"):
        return 65535.0
    if image.mode not in ("I", "F"):
        return None
    # Neither 32-bit integers nor floats say what they mean by white.
    top = 0.0
    for _, strip in _strips(image, max(1, _STRIP // image.width)):
        values = np.asarray(strip)
        top = max(top, float(values.max(initial=0.0, where=np.isfinite(values))))
    steps = (1.0, 255.0) if image.mode == "F" else (255.0, 65535.0)
    return next((step for step in steps if top <= step), top)


def _to_eight_bits(image: Image.Image, white: float) -> Image.Image:
    values = np.nan_to_num(np.asarray(image).astype(np.float64), posinf=white, neginf=0.0)
    return Image.fromarray(np.clip(values * (255.0 / white), 0, 255).round().astype(np.uint8))


def to_rgb(image: Image.Image, white: float | None = None) -> Image.Image:
    """Return a picture of any mode as RGB: deep grey is scaled to 8 bits, transparency is laid on white.

    ``white`` is the value of deep grey that becomes 255; None takes it from the mode and the brightest pixel.
    """
    white = _white(image) if white is None else white
    if white is not None:
        image = _to_eight_bits(image, white)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        # Pillow knows no way from premultiplied grey to colour.
        image = image.convert("LA" if image.mode == "La" else "RGBA").convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, _WHITE), image)
    return image if image.mode == "RGB" else image.convert("RGB")


def _by_strips(image: Image.Image, factor: int) -> Image.Image:
    """Return a gigantic picture as RGB, both sides divided by ``factor``."""
    width, height = image.size
    rows = factor * max(1, _STRIP // (width * factor))
    white = _white(image)
    whole = Image.new("RGB", (-(-width // factor), -(-height // factor)))
    for top, strip in _strips(image, rows):
        whole.paste(to_rgb(strip, white).reduce(factor), (0, top // factor))
    # What stands the picture upright later is kept there; its transparency is gone.
    whole.info = {name: value for name, value in image.info.items() if name != "transparency"}
    return whole


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


class PictureExtent(NamedTuple):
    """Header of an image file: side lengths of the upright image, and whether it has several frames."""

    width: int
    height: int
    several: bool = False


class EncodedImage:
    """The bytes of an image file, decoded once however often its picture is asked for.

    Only a picture that is far larger than one of the asked sides is decoded again for the smaller one, at less cost.
    """

    def __init__(self, content: bytes, max_pixels: int = MAX_PIXELS) -> None:
        """Take the bytes; pictures of more than ``max_pixels`` are refused."""
        self.content = content
        self.max_pixels = max_pixels
        self._decoded: dict[tuple[tuple[int, int], int], Image.Image] = {}
        self._asked: dict[int | None, Image.Image] = {}

    def content_hash(self) -> str:
        """Return the SHA-256 of the bytes."""
        return hashlib.sha256(self.content).hexdigest()

    def extent(self) -> PictureExtent:
        """Return the header; zeros if there is no image."""
        try:
            with _SILENCE, Image.open(io.BytesIO(self.content)) as image:
                width, height = image.size
                # The second picture of a phone's photo is its own preview.
                several = image.format != "MPO" and bool(getattr(image, "is_animated", False))
                turned = image.getexif().get(ORIENTATION, 1) in (5, 6, 7, 8)
        except _DECODER_ERRORS:
            return PictureExtent(0, 0)
        return PictureExtent(height, width, several) if turned else PictureExtent(width, height, several)

    def picture(self, min_side: int | None = None) -> Image.Image:
        """Return the (first) picture in the bytes as upright RGB; it must not be changed.

        ``min_side`` is the side that the caller will shrink to. With it, huge JPEG files decode at reduced size, and
        gigantic pictures of other formats are returned smaller, at least twice as large as ``min_side``.

        Raises:
            UnreadableImage: with the reason.
        """
        if not self.content:
            raise UnreadableImage(EMPTY_FILE)
        try:
            if min_side not in self._asked:
                self._asked[min_side] = self._open_and_convert(min_side)
            return self._asked[min_side]
        except UnreadableImage:
            raise
        except _DECODER_ERRORS as error:
            raise UnreadableImage(_explain(error)) from error

    def _open_and_convert(self, min_side: int | None) -> Image.Image:
        # Size is judged below, and oddities of metadata do not matter.
        with _SILENCE, Image.open(io.BytesIO(self.content)) as image:
            if image.format == "EPS":
                # Pillow would run it with Ghostscript.
                raise UnreadableImage("a PostScript file, which is a program and no picture")
            if min_side is not None:
                # JPEG can decode at 1/2, 1/4 or 1/8 size; twice the wanted side keeps the later resize faithful.
                image.draft("RGB", (2 * min_side, 2 * min_side))
            _check_extent(image, self.max_pixels)
            # Zero: converted whole.
            factor = 0
            if image.width * image.height > GIGANTIC:
                factor = 1 if min_side is None else max(1, min(image.size) // (2 * min_side))
            scale = image.size, factor
            if scale not in self._decoded:
                self._decoded[scale] = _converted(image, factor)
            return self._decoded[scale]


def _converted(image: Image.Image, factor: int) -> Image.Image:
    image.load()
    return _upright(_by_strips(image, factor)) if factor else to_rgb(_upright(image))


def _explain(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "not an image in a known format"
    if isinstance(error, Image.DecompressionBombError):
        return "too large: more pixels than Pillow agrees to decode"
    text = " ".join(str(error).split())[:200]
    if "truncated" in text.lower():
        return "the file is cut off: its end is missing"
    return f"damaged image ({text or type(error).__name__})"


def decode_bytes(content: bytes, *, max_pixels: int = MAX_PIXELS, min_side: int | None = None) -> Image.Image:
    """Return the (first) picture in the bytes of an image file as upright RGB; see ``EncodedImage.picture``."""
    return EncodedImage(content, max_pixels).picture(min_side)


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        UnreadableImage: if it is missing, no regular file or not allowed to be read.
    """
    try:
        # A pipe or device would block for ever or never end.
        if not Path(path).is_file():
            raise UnreadableImage("no such file" if not Path(path).exists() else "not a regular file")
        if Path(path).stat().st_size > MAX_BYTES:
            raise UnreadableImage(f"too large: more than {MAX_BYTES:,} bytes")
        return Path(path).read_bytes()
    except UnreadableImage:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableImage(f"cannot be read ({reason})") from error


def decode(path: str | Path, *, max_pixels: int = MAX_PIXELS, min_side: int | None = None) -> Image.Image:
    """Return the first image of a file as upright RGB, whatever its extension.

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
        with _SILENCE, Image.open(path) as image:
            return min(image.size)
    except _DECODER_ERRORS:
        return None
