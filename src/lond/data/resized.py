"""Images at another size than they are stored in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from lond.data.pixels import SubsetPixels, short_hash
from lond.data.squares import SquarePixels
from lond.types import Pixels, Request


class ResizedPixels:
    """Images of other pixels, resized to squares whenever they are asked for (bicubic, antialiased)."""

    crops_on_read = False

    def __init__(self, base: Pixels, side: int) -> None:
        """Show ``base`` as squares of ``side``."""
        self.base = base
        self.side = side

    @property
    def channels(self) -> int:
        """Number of colour channels."""
        return self.base.channels

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.side, self.side

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.base)

    def stream(self, requests: Sequence[Request]) -> Iterator[Tensor]:
        """Yield ``(1, B, C, side, side)`` uint8 for each request."""
        for images in self.base.stream(requests):
            yield enlarge(images[0], self.side).unsqueeze(0)

    def fingerprint(self) -> str:
        """Return a hash of the base's hash and the side."""
        return short_hash(self.base.fingerprint(), f"side {self.side}")


def enlarge(images: Tensor, side: int) -> Tensor:
    """Return uint8 images ``(B, C, H, W)`` as ``(B, C, side, side)``."""
    floats = F.interpolate(images.float(), (side, side), mode="bicubic", align_corners=False, antialias=True)
    return floats.round().clamp(0, 255).to(torch.uint8)


def at_side(pixels: Pixels, side: int) -> Pixels:
    """Return the same images as squares of another side: files are read anew at it, images in memory are resized."""
    if isinstance(pixels, SubsetPixels):
        return SubsetPixels(at_side(pixels.base, side), pixels.indices)
    if isinstance(pixels, SquarePixels):
        return pixels.at_side(side)
    return pixels if pixels.size == (side, side) else ResizedPixels(pixels, side)
