"""JPEG files decoded by simplejpeg, if it is installed: the same pixels as Pillow's, sooner and without copies."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Bytes = NDArray[np.uint8]


class Decoded:
    """A decoded RGB image, as a picture of Pillow and as an array ``(H, W, 3)``; each is made of the other if asked."""

    def __init__(self, image: Image.Image | Bytes) -> None:
        """Take the image in either form."""
        self._image = image

    @cached_property
    def picture(self) -> Image.Image:
        """The picture, which must not be changed."""
        return self._image if isinstance(self._image, Image.Image) else Image.fromarray(self._image)

    @cached_property
    def pixels(self) -> Bytes:
        """The array, which must not be changed."""
        return np.array(self._image) if isinstance(self._image, Image.Image) else self._image


@cache
def _simplejpeg() -> Any | None:
    try:
        import simplejpeg
    except ImportError:
        return None
    return simplejpeg


def quick_jpeg(image: Image.Image, content: bytes) -> Bytes | None:
    """Return the pixels ``(H, W, 3)`` of a JPEG file, not turned upright; None if Pillow must decode it.

    Pillow decodes images that are grey, CMYK, damaged, or asked for at reduced size.

    Args:
        image: the file as opened by Pillow, not decoded yet.
        content: the bytes of the file.
    """
    decoder = _simplejpeg()
    if decoder is None or image.format not in ("JPEG", "MPO") or image.mode != "RGB":
        return None
    try:
        height, width, *_ = decoder.decode_jpeg_header(content)
        if (width, height) != image.size:
            return None
        pixels: Bytes = decoder.decode_jpeg(content)
    except ValueError:
        return None
    return pixels
