"""What an image holds, in short: a hash of its content, and coarse prints of its looks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lond.data.images import MAX_BYTES
from lond.data.pixels import SubsetPixels
from lond.data.read.files import FilePixels, Progress
from lond.data.squares import unreadable
from lond.types import Pixels, Request, Samples

SIDE = 8
"""Rows and columns of the difference hash of an image."""

SMALL = 16
"""Rows and columns of the small picture of an image."""

BATCH = 256


def content_hashes(samples: Samples, progress: Progress | None = None) -> list[str]:
    """Return the SHA-256 of each image's content: of the bytes of a file, of the pixels of any other image.

    Equal hashes mean equal images. The pixels of images that are resized on reading (another library's dataset) are
    those of the resized centre square. An image without content or known to be unreadable gets "".
    """
    base, places = _base(samples.pixels)
    if isinstance(base, FilePixels):
        hashes = []
        for done, place in enumerate(places, 1):
            hashes.append(_file_hash(base.paths[place]))
            if progress is not None:
                progress(done, len(places))
    else:
        batches = _batches(samples.pixels, progress)
        hashes = [_pixel_hash(image) for images in batches for image in images]
    bad = unreadable(base)
    return ["" if place in bad else found for place, found in zip(places, hashes, strict=True)]


class Looks(NamedTuple):
    """How N images look, in short.

    ``bits`` ``(N, 64)`` bool is the difference hash: where brightness falls from left to right among 8 x 9 cells.
    ``small`` ``(N, 768)`` uint8 are pictures of 16 x 16 cells in three colours. Scaling, compression and brightness
    hardly change either; another picture of the same thing changes many.
    """

    bits: Tensor
    small: Tensor

    def vectors(self) -> Tensor:
        """Return the small pictures without their mean as unit vectors ``(N, 768)``; blank ones are zero."""
        values = self.small.float()
        return functional.normalize(values - values.mean(dim=1, keepdim=True), dim=1)


def looks_of(samples: Samples, progress: Progress | None = None) -> Looks:
    """Return the looks of the centre square of each image."""
    parts = [(_bits(images), _small(images)) for images in _batches(samples.pixels, progress)]
    if not parts:
        return Looks(torch.zeros(0, SIDE * SIDE, dtype=torch.bool), torch.zeros(0, 3 * SMALL**2, dtype=torch.uint8))
    bits, small = (torch.cat(column) for column in zip(*parts, strict=True))
    return Looks(bits, small)


def _bits(images: Tensor) -> Tensor:
    grey = images.float().mean(dim=1, keepdim=True)
    cells = functional.adaptive_avg_pool2d(grey, (SIDE, SIDE + 1)).squeeze(1)
    return (cells[:, :, :-1] > cells[:, :, 1:]).flatten(1)


def _small(images: Tensor) -> Tensor:
    cells = functional.adaptive_avg_pool2d(images.float(), SMALL).round().to(torch.uint8)
    return cells.expand(-1, 3, -1, -1).flatten(1)


def _base(pixels: Pixels) -> tuple[Pixels, list[int]]:
    if isinstance(pixels, SubsetPixels):
        base, places = _base(pixels.base)
        return base, [places[index] for index in pixels.indices.tolist()]
    return pixels, list(range(len(pixels)))


def _file_hash(path: str) -> str:
    try:
        # A pipe or device would block for ever, an empty file has no content to share with another, and a file too
        # large to be read as a picture is not worth the time.
        if not Path(path).is_file() or not 0 < Path(path).stat().st_size <= MAX_BYTES:
            return ""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""


def _pixel_hash(image: Tensor) -> str:
    digest = hashlib.sha256(str(tuple(image.shape)).encode())
    digest.update(image.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _batches(pixels: Pixels, progress: Progress | None) -> Iterator[Tensor]:
    """Yield ``(B, C, H, W)`` uint8 of all images in order."""
    starts = range(0, len(pixels), BATCH)
    requests = [Request(torch.arange(start, min(start + BATCH, len(pixels)))) for start in starts]
    done = 0
    for batch in pixels.stream(requests):
        yield batch[0]
        done += batch.shape[1]
        if progress is not None:
            progress(done, len(pixels))
