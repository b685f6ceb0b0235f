"""What an image holds, in short: a hash of its content, and a perceptual hash that survives scaling."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

SIDE = 8
"""Rows and columns of the difference hash of an image."""

SMALL = 16
"""Rows and columns of the small picture of an image."""

AT_ONCE = 8
"""Images that are looked at at a time."""

LEAST_FALL = 0.5
"""Levels of grey by which brightness must fall to count: on a plain ground, rounding would decide."""


class PerceptualHashes(NamedTuple):
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


def perceptual_hashes(images: Tensor) -> PerceptualHashes:
    """Return the perceptual hashes of uint8 images ``(B, C, H, W)``."""
    if not len(images):
        return PerceptualHashes(
            torch.zeros(0, SIDE * SIDE, dtype=torch.bool), torch.zeros(0, 3 * SMALL**2, dtype=torch.uint8)
        )
    # A few images at a time stay in the processor's own memory.
    parts = [_perceptual(part.float()) for part in images.split(AT_ONCE)]
    return PerceptualHashes(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _perceptual(values: Tensor) -> PerceptualHashes:
    bright = _cell_means(values.sum(dim=1), SIDE, SIDE + 1) / values.shape[1]
    cells = _cell_means(values, SMALL, SMALL).round().to(torch.uint8)
    return PerceptualHashes(
        (bright[:, :, :-1] > bright[:, :, 1:] + LEAST_FALL).flatten(1),
        cells.expand(-1, 3, -1, -1).flatten(1).contiguous(),
    )


def _cell_means(values: Tensor, rows: int, columns: int) -> Tensor:
    """Return the means of ``rows`` x ``columns`` cells of ``(..., H, W)``, as adaptive pooling divides it.

    Two matrix products, much faster than pooling; sums of whole numbers are exact, in whatever order.
    """
    down, across = (_members(length, cells) for length, cells in zip(values.shape[-2:], (rows, columns), strict=True))
    sums = down @ (values @ across.T)
    return sums / (down.sum(dim=1)[:, None] * across.sum(dim=1))


def _members(length: int, cells: int) -> Tensor:
    """Return a 0/1 table ``(cells, length)`` of which places belong to which cell; small images share places."""
    place, cell = torch.arange(length), torch.arange(cells)[:, None]
    return ((place >= cell * length // cells) & (place < -(-(cell + 1) * length // cells))).float()


def pixel_hash(image: Tensor) -> str:
    """Return the SHA-256 of an image's shape and pixels."""
    digest = hashlib.sha256(str(tuple(image.shape)).encode())
    digest.update(image.contiguous().numpy().tobytes())
    return digest.hexdigest()
