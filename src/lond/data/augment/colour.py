"""Batched colour operations on uint8 images, equal to PIL's ImageOps and ImageEnhance.

Every function takes ``(B, C, H, W)`` uint8 images with C = 1 or 3, and where it has a parameter one value per
image, ``(B,)``; it returns new uint8 images of the same shape.
"""

from __future__ import annotations

import torch
from torch import Tensor

GREY = 128


def invert(images: Tensor) -> Tensor:
    """Turn black into white."""
    return 255 - images


def posterize(images: Tensor, bits: Tensor) -> Tensor:
    """Keep the ``bits`` (``(B,)``, rounded, 1..8) highest bits of every value."""
    dropped = (8 - bits.round()).long()
    mask = 256 - torch.bitwise_left_shift(torch.ones_like(dropped), dropped)
    return images & _per_image(mask.to(torch.uint8))


def solarize(images: Tensor, threshold: Tensor) -> Tensor:
    """Invert the values that are not below ``threshold`` (``(B,)``, 0..256)."""
    # An integer is below a real threshold just when it is below its ceiling; int16 holds 256.
    return torch.where(images < _per_image(threshold.ceil().to(torch.int16)), images, 255 - images)


def brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Blend with black; ``factor`` ``(B,)``, 1 leaves the image as it is."""
    return _to_levels(images.float().mul_(_per_image(factor)))


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Blend with the mean grey level of the image; ``factor`` ``(B,)``."""
    pixels = images.shape[2] * images.shape[3]
    total = _grey(images).sum(dim=(1, 2, 3), dtype=torch.float64)
    return _blend(_per_image((total / max(pixels, 1) + 0.5).floor().float()), images.float(), factor)


def color(images: Tensor, factor: Tensor) -> Tensor:
    """Blend with the grey version of the image; ``factor`` ``(B,)``; one channel stays as it is."""
    if images.shape[1] == 1:
        return images.clone()
    return _blend(_grey(images), images.float(), factor)


def sharpness(images: Tensor, factor: Tensor) -> Tensor:
    """Blend with the smoothed image (3 x 3, centre weight 5, border untouched); ``factor`` ``(B,)``."""
    if min(images.shape[2:]) < 3:
        return images.clone()
    values = images.float()
    inner = values[:, :, 1:-1, 1:-1]
    columns = values[:, :, :-2] + values[:, :, 1:-1] + values[:, :, 2:]
    total = columns[..., :-2] + columns[..., 1:-1] + columns[..., 2:] + 4 * inner
    # The sum is whole, so adding 6.5 before dividing by 13 rounds without ties.
    smooth = total.add_(6.5).div_(13).floor_()
    result = images.clone()
    result[:, :, 1:-1, 1:-1] = _blend(smooth, inner, factor)
    return result


def autocontrast(images: Tensor) -> Tensor:
    """Stretch every channel to the full range 0..255."""
    if images.numel() == 0:
        return images.clone()
    low, high = images.amin(dim=(2, 3), keepdim=True).double(), images.amax(dim=(2, 3), keepdim=True).double()
    flat = high <= low
    # float64, a true division and this order of operations, because PIL truncates and so shows every rounding error.
    scale = torch.where(flat, 1.0, torch.full_like(low, 255) / (high - low))
    offset = torch.where(flat, 0.0, -low * scale)
    return _to_levels(images.double().mul_(scale).add_(offset))


def equalize(images: Tensor) -> Tensor:
    """Equalise the histogram of every channel with PIL's integer arithmetic."""
    if images.numel() == 0:
        return images.clone()
    values = images.flatten(2).flatten(0, 1).long()
    counts = _histograms(values)
    last = counts.gather(1, values.amax(dim=1, keepdim=True))
    step = (values.shape[1] - last) // 255
    before = counts.cumsum(dim=1) - counts
    table = ((before + step // 2) // step.clamp(min=1)).clamp_(max=255)
    table = torch.where(step > 0, table, torch.arange(256, device=images.device))
    return table.to(torch.uint8).gather(1, values).view(images.shape)


def cutout(images: Tensor, fraction: Tensor, centres: Tensor, fill: int = GREY) -> Tensor:
    """Paint a rectangle grey.

    Args:
        images: ``(B, C, H, W)`` uint8.
        fraction: ``(B,)`` side of the rectangle as a fraction of height and width.
        centres: ``(B, 2)`` vertical and horizontal position of its centre in [0, 1].
        fill: Grey value.
    """
    hidden = [
        (_centres_of(side, images) - centres[:, axis, None] * side).abs() * 2 < fraction[:, None] * side
        for axis, side in enumerate(images.shape[2:])
    ]
    return images.masked_fill((hidden[0][:, :, None] & hidden[1][:, None, :])[:, None], fill)


def _centres_of(side: int, images: Tensor) -> Tensor:
    return torch.arange(side, device=images.device) + 0.5


def _per_image(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1)


def _to_levels(values: Tensor) -> Tensor:
    """Clip to 0..255 and cut off the fraction, as PIL does."""
    # The detour over int16 is three times faster on a CPU than the direct conversion.
    return values.clamp_(0, 255).to(torch.int16).to(torch.uint8)


def _blend(degenerate: Tensor, values: Tensor, factor: Tensor) -> Tensor:
    """Return ``degenerate + factor * (values - degenerate)`` as levels."""
    return _to_levels((values - degenerate).mul_(_per_image(factor)).add_(degenerate))


def _grey(images: Tensor) -> Tensor:
    """Return PIL's luminance ``(B, 1, H, W)`` as whole float32; the sums stay below 2 ** 24 and so are exact."""
    values = images.float()
    if images.shape[1] == 1:
        return values
    red, green, blue = values[:, 0:1], values[:, 1:2], values[:, 2:3]
    return (red * 19595 + green * 38470 + blue * 7471 + 32768).mul_(1 / 65536).floor_()


def _histograms(values: Tensor) -> Tensor:
    """Count the levels 0..255 of ``(R, P)`` int64 rows; returns ``(R, 256)`` int64."""
    counts = torch.zeros(values.shape[0], 256, dtype=torch.int64, device=values.device)
    return counts.scatter_add_(1, values, torch.ones((), dtype=torch.int64, device=values.device).expand_as(values))
