"""What can be measured of a picture without knowing what it shows: extent, brightness, contrast, blur and colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MEASURES = ("width", "height", "several", "highlights", "shadows", "contrast", "blur", "colour")
"""Columns of measures.

``width`` and ``height`` are those of the upright picture in its file, in pixels; ``several`` is 1 for a file that holds
several pictures, such as an animation. The others lie in [0, 1] and are measured at ``LOOK`` pixels: ``highlights`` and
``shadows`` are the brightness that 5 % of the pixels exceed and that 5 % do not reach, ``contrast`` is the largest
standard deviation of a colour, ``blur`` the blur effect, ``colour`` the difference between the strongest and the
weakest colour of a pixel, which 5 % of the pixels exceed.
"""

LOOK = 192
"""Longest side at which pictures are measured: finer blur cannot be seen by a network of 224 pixels."""

_REACH = 9
"""Pixels over which the blur effect blurs."""

Measured = NDArray[np.float32]


def measure_picture(picture: Image.Image, width: int, height: int, *, several: bool = False) -> Measured:
    """Return the measures ``(8,)`` of a picture whose file is of this width and height."""
    scale = LOOK / max(picture.size)
    if scale < 1:
        small = (max(1, round(scale * picture.width)), max(1, round(scale * picture.height)))
        picture = picture.resize(small, Image.Resampling.BOX, reducing_gap=3.0)
    return measure_pixels(np.asarray(picture.convert("RGB")), width, height, several=several)


def measure_pixels(pixels: NDArray[Any], width: int, height: int, *, several: bool = False) -> Measured:
    """Return the measures ``(8,)`` of uint8 pixels ``(H, W, C)``."""
    # One plane a colour: NumPy is slow along an axis of three.
    values = pixels.transpose(2, 0, 1).astype(np.float32, order="C") / 255
    grey = values.mean(axis=0)
    low, high = np.quantile(grey, (0.05, 0.95))
    contrast = float(values.reshape(len(values), -1).std(axis=1).max())
    colour = float(np.quantile(values.max(axis=0) - values.min(axis=0), 0.95))
    return np.asarray([width, height, several, high, low, contrast, blur_effect(grey), colour], dtype=np.float32)


def blur_effect(grey: NDArray[Any]) -> float:
    """Return how little a picture ``(H, W)`` changes by being blurred: near 0 for a sharp one, 1 for a smooth one.

    The blur effect of Crete et al., "The blur effect: perception and estimation with a new no-reference perceptual
    blur metric" (2007), equations 1 to 9: the share of the variation between neighbouring pixels that blurring leaves,
    in the direction in which it leaves more.
    """
    left = []
    exact = grey.astype(np.float64)
    for across in (exact, np.ascontiguousarray(exact.T)):
        sharp, soft = (_steps(image) for image in (across, _blurred(across)))
        total = float(sharp.sum())
        lost = np.maximum(0, np.subtract(sharp, soft, out=soft), out=soft)
        # A picture without variation has nothing to lose.
        left.append(1.0 if total < 1e-9 else 1.0 - float(lost.sum()) / total)
    return max(left)


def _steps(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much neighbours along the columns differ."""
    found = image[1:] - image[:-1]
    return np.abs(found, out=found)


def _blurred(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of ``_REACH`` pixels along the columns; beyond the edge, the edge goes on."""
    half = _REACH // 2
    sums = np.concatenate([np.repeat(image[:1], half + 1, axis=0), image, np.repeat(image[-1:], half, axis=0)])
    np.cumsum(sums, axis=0, out=sums)
    means: NDArray[np.float64] = sums[_REACH:] - sums[:-_REACH]
    means /= _REACH
    return means
