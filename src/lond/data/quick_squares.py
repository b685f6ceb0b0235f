"""Squares and small pictures resized by PyTorch: as Pillow resizes them up to one level, in a third of its time."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from lond.data.squares import CENTRE, MID_GREY, cut_squares, is_strip, resized_extent, whole_place


def quick_square(picture: Image.Image, size: int, position: tuple[float, float] = CENTRE) -> Tensor:
    """Return one square of a grey or coloured picture, ``(C, size, size)`` uint8; see ``cut_squares``."""
    if is_strip(picture):
        return _pixels(cut_squares(picture, size, [position])[0])[0].contiguous()
    wide, high = resized_extent(picture, size)
    top, left = round(position[0] * (high - size)), round(position[1] * (wide - size))
    square = quick_resized(picture, wide, high)[:, top : top + size, left : left + size]
    # PyTorch would share the copy among threads, which takes longer.
    return torch.from_numpy(np.ascontiguousarray(square.numpy()))


def quick_whole(picture: Image.Image, size: int) -> Tensor:
    """Return a whole grey or coloured picture, padded, as ``(C, size, size)`` uint8; see ``padded_square``."""
    left, top, width, height = whole_place(picture, size)
    small = quick_resized(picture, width, height)
    square = torch.full((small.shape[0], size, size), MID_GREY, dtype=torch.uint8)
    square[:, top : top + height, left : left + width] = small
    return square


def quick_resized(
    picture: Image.Image, width: int, height: int, filter_name: Literal["bilinear", "bicubic"] = "bilinear"
) -> Tensor:
    """Return a grey or coloured picture at another size, antialiased, ``(C, height, width)`` uint8."""
    values = _pixels(picture)
    if (width, height) != picture.size:
        values = functional.interpolate(values, (height, width), mode=filter_name, align_corners=False, antialias=True)
    return values[0]


def _pixels(picture: Image.Image) -> Tensor:
    """Return a copy of the pixels, ``(1, C, H, W)`` uint8, channels last in memory, which PyTorch resizes fastest."""
    return torch.from_numpy(np.array(picture).reshape(1, picture.height, picture.width, -1)).permute(0, 3, 1, 2)
