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
    grey = images.float().mean(dim=1, keepdim=True)
    bright = functional.adaptive_avg_pool2d(grey, (SIDE, SIDE + 1)).squeeze(1)
    cells = functional.adaptive_avg_pool2d(images.float(), SMALL).round().to(torch.uint8)
    return PerceptualHashes(
        (bright[:, :, :-1] > bright[:, :, 1:] + LEAST_FALL).flatten(1),
        cells.expand(-1, 3, -1, -1).flatten(1).contiguous(),
    )


def pixel_hash(image: Tensor) -> str:
    """Return the SHA-256 of an image's shape and pixels."""
    digest = hashlib.sha256(str(tuple(image.shape)).encode())
    digest.update(image.contiguous().numpy().tobytes())
    return digest.hexdigest()
