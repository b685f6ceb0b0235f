"""Squares and small pictures resized by PyTorch: as Pillow resizes them up to one level, in a third of its time."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from lond.data.jpeg import Bytes
from lond.data.squares import CENTRE, cut_squares, is_strip, resized_extent


def quick_square(picture: Image.Image | Bytes, size: int) -> Tensor:
    """Return the centre square of a grey or coloured picture, ``(C, size, size)`` uint8; see ``cut_squares``.

    An array ``(H, W, C)`` saves a copy.
    """
    values = _pixels(picture)
    height, width = values.shape[-2:]
    if is_strip(width, height):
        whole = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
        return _pixels(cut_squares(whole, size, [CENTRE])[0])[0].contiguous()
    wide, high = resized_extent(width, height, size)
    top, left = round(CENTRE[0] * (high - size)), round(CENTRE[1] * (wide - size))
    square = _resized(values, wide, high)[0, :, top : top + size, left : left + size]
    # PyTorch would share the work among threads, which takes longer.
    return torch.from_numpy(np.ascontiguousarray(square.numpy()))


def quick_resized(
    picture: Image.Image | Bytes, width: int, height: int, filter_name: Literal["bilinear", "bicubic"] = "bilinear"
) -> Tensor:
    """Return a grey or coloured picture at another size, antialiased, ``(C, height, width)`` uint8."""
    return _resized(_pixels(picture), width, height, filter_name)[0]


def _resized(
    values: Tensor, width: int, height: int, filter_name: Literal["bilinear", "bicubic"] = "bilinear"
) -> Tensor:
    if values.shape[-2:] == (height, width):
        return values
    return functional.interpolate(values, (height, width), mode=filter_name, align_corners=False, antialias=True)


def _pixels(picture: Image.Image | Bytes) -> Tensor:
    """Return the pixels, ``(1, C, H, W)`` uint8, channels last in memory, which PyTorch resizes fastest."""
    values = np.array(picture) if isinstance(picture, Image.Image) else picture
    return torch.from_numpy(values.reshape(1, *values.shape[:2], -1)).permute(0, 3, 1, 2)
