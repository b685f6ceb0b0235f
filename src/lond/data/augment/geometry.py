"""Batched crops, flips and affine maps on uint8 images, every image with its own parameters.

Affine maps follow PIL's convention: a ``(2, 3)`` matrix takes the centre of an output pixel to the place in the
input that it shows, in pixels, with the top left corner of the image at (0, 0).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def crop_and_flip(images: Tensor, offsets: Tensor | None, flips: Tensor | None, padding: int = 0) -> Tensor:
    """Pad with zeros, crop each image at its own offset, and mirror the marked ones, in one gather.

    Args:
        images: ``(B, C, H, W)`` uint8.
        offsets: ``(B, 2)`` int64, vertical and horizontal, in ``0..2 * padding``; None cuts the centre.
        flips: ``(B,)`` bool, True mirrors left and right; None mirrors none.
        padding: Zeros added on every side before the cut.

    Returns:
        ``(B, C, H, W)`` uint8.
    """
    if offsets is None and flips is None:
        return images
    batch, channels, height, width = images.shape
    rows = torch.arange(height, device=images.device).expand(batch, -1)
    columns = torch.arange(width, device=images.device).expand(batch, -1)
    if flips is not None:
        columns = torch.where(flips[:, None], columns.flip(1), columns)
    if offsets is not None:
        images = F.pad(images, (padding, padding, padding, padding))
        rows, columns = rows + offsets[:, :1], columns + offsets[:, 1:]
    places = rows[:, :, None] * images.shape[3] + columns[:, None, :]
    return _gather_pixels(images, places).view(batch, channels, height, width)


def affine_matrix(
    size: tuple[int, int],
    *,
    angle: Tensor,
    shear: Tensor,
    shift: Tensor,
    shear_about_centre: bool = False,
) -> Tensor:
    """Return output-to-input matrices that shear, then rotate about the centre, then shift.

    With two of the three at zero this is PIL's ``rotate`` or the usual AutoAugment shear or translate.

    Args:
        size: Height and width.
        angle: ``(B,)`` degrees, counter-clockwise.
        shear: ``(B, 2)`` horizontal and vertical shear.
        shift: ``(B, 2)`` horizontal and vertical shift as a fraction of width and height.
        shear_about_centre: Keep the centre in place instead of the top left corner, as PIL does.

    Returns:
        ``(B, 2, 3)`` float32.
    """
    radians = torch.deg2rad(angle.double())
    cosine, sine = radians.cos(), radians.sin()
    rotation = torch.stack([cosine, -sine, sine, cosine], dim=1).view(-1, 2, 2)
    shearing = torch.eye(2, dtype=torch.float64, device=angle.device).repeat(len(angle), 1, 1)
    shearing[:, 0, 1], shearing[:, 1, 0] = shear[:, 0].double(), shear[:, 1].double()
    extent = torch.tensor([size[1], size[0]], dtype=torch.float64, device=angle.device)
    centre = (extent / 2)[:, None]
    linear = rotation @ shearing
    pivot = linear @ centre if shear_about_centre else rotation @ centre
    offset = centre - pivot + (shift.double() * extent)[:, :, None]
    return torch.cat([linear, offset], dim=2).float()


def affine(images: Tensor, matrix: Tensor, *, fill: int = 128, bilinear: bool = False) -> Tensor:
    """Apply to every image its own affine map; what lies outside becomes ``fill``.

    Args:
        images: ``(B, C, H, W)`` uint8.
        matrix: ``(B, 2, 3)`` output-to-input, see ``affine_matrix``.
        fill: Grey value of the outside.
        bilinear: Interpolate (and round) instead of taking the nearest pixel.

    Returns:
        ``(B, C, H, W)`` uint8.
    """
    if images.numel() == 0:
        return images
    x, y = _source_places(matrix.to(images.device), images.shape[2], images.shape[3])
    if bilinear:
        return _sample_bilinear(images, x, y, fill)
    return _sample_nearest(images, x, y, fill)


def _source_places(matrix: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Return the input x and y, each ``(B, H, W)``, of every output pixel centre."""
    column = torch.arange(width, device=matrix.device) + 0.5
    row = (torch.arange(height, device=matrix.device) + 0.5)[:, None]
    a, b, c, d, e, f = matrix.flatten(1).t().unsqueeze(2).unsqueeze(3).unbind()
    return (a * column + c) + b * row, (d * column + f) + e * row


def _sample_nearest(images: Tensor, x: Tensor, y: Tensor, fill: int) -> Tensor:
    """Take for every output pixel the input pixel whose square holds ``(x, y)``."""
    height, width = images.shape[2:]
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    places = y.int().clamp_(0, height - 1).mul_(width).add_(x.int().clamp_(0, width - 1))
    return _gather_pixels(images, places.long()).view(images.shape).masked_fill_(~inside[:, None], fill)


def _sample_bilinear(images: Tensor, x: Tensor, y: Tensor, fill: int) -> Tensor:
    """Interpolate between the four nearest input pixels, those outside being ``fill``."""
    height, width = images.shape[2:]
    grid = torch.stack([x * (2 / width) - 1, y * (2 / height) - 1], dim=3)
    # grid_sample knows only zero as outside: shift the grey axis so that the fill value is zero.
    shifted = images.float() - fill
    sampled = F.grid_sample(shifted, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return sampled.add_(fill + 0.5).clamp_(0, 255).to(torch.int16).to(torch.uint8)


def _gather_pixels(images: Tensor, places: Tensor) -> Tensor:
    """Read flat pixel positions ``(B, h, w)`` from all channels; returns ``(B, C, h * w)``."""
    index = places.flatten(1).unsqueeze(1).expand(-1, images.shape[1], -1)
    return images.flatten(2).gather(2, index)
