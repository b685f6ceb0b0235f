"""Measures of pictures against hand-computed values and a slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageFilter

from lond.frozen.measures import LOOK, MEASURES, blur_effect, measure_picture, measure_pixels


def slow_blur_effect(grey: np.ndarray) -> float:
    """Return the blur effect pixel by pixel."""
    height, width = grey.shape

    def mean(row: int, column: int, down: bool) -> float:
        reach = range(-4, 5)
        places = [(row + at, column) if down else (row, column + at) for at in reach]
        return sum(grey[min(max(r, 0), height - 1), min(max(c, 0), width - 1)] for r, c in places) / 9

    shares = []
    for down in (True, False):
        total = lost = 0.0
        for row in range(1 if down else 0, height):
            for column in range(0 if down else 1, width):
                before = (row - 1, column) if down else (row, column - 1)
                sharp = abs(grey[row, column] - grey[before])
                soft = abs(mean(row, column, down) - mean(*before, down))
                total += sharp
                lost += max(0.0, sharp - soft)
        shares.append((total - lost) / total)
    return max(shares)


def photo(side: int = 64) -> Image.Image:
    values = np.random.default_rng(1).integers(0, 256, (side, side, 3), dtype=np.uint8)
    return Image.fromarray(values)


def test_blur_effect_against_the_slow_reference() -> None:
    grey = np.random.default_rng(0).random((17, 23))
    assert blur_effect(grey) == pytest.approx(slow_blur_effect(grey), abs=1e-9)
    smooth = np.add.outer(np.arange(20.0), np.arange(30.0)) / 60
    assert blur_effect(smooth) == pytest.approx(slow_blur_effect(smooth), abs=1e-9)
    assert blur_effect(np.full((9, 9), 0.5)) == 1.0 and blur_effect(np.ones((1, 1))) == 1.0


def test_blurring_raises_the_blur() -> None:
    blurs = [measure_picture(photo().filter(ImageFilter.GaussianBlur(radius)), 64, 64)[6] for radius in (0, 1, 3)]
    assert blurs[0] < 0.2 < blurs[1] < 0.4 < blurs[2]


def test_measures_by_hand() -> None:
    pixels = np.zeros((10, 10, 3), dtype=np.uint8)
    pixels[:5] = (255, 0, 0)
    found = dict(zip(MEASURES, measure_pixels(pixels, 640, 480, several=True).tolist(), strict=True))
    assert (found["width"], found["height"], found["several"]) == (640, 480, 1)
    assert found["highlights"] == pytest.approx(1 / 3) and found["shadows"] == 0
    assert found["contrast"] == pytest.approx(0.5) and found["colour"] == pytest.approx(1)
    grey = measure_pixels(np.full((4, 4, 1), 51, dtype=np.uint8), 4, 4)
    assert grey[3:].tolist() == pytest.approx([0.2, 0.2, 0, 1, 0])


def test_large_and_thin_pictures_are_measured_small() -> None:
    assert measure_picture(photo(4 * LOOK), 4 * LOOK, 4 * LOOK)[5] < 0.2
    assert np.isfinite(measure_picture(Image.new("L", (5000, 1), 200), 5000, 1)).all()


def test_measures_against_sums_over_single_pixels() -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (13, 11, 3), dtype=np.uint8)
    found = dict(zip(MEASURES, measure_pixels(pixels, 11, 13).tolist(), strict=True))
    every = [[float(value) / 255 for value in pixel] for row in pixels for pixel in row]
    brightness = sorted(sum(pixel) / 3 for pixel in every)
    deviations = []
    for colour in zip(*every, strict=True):
        mean = sum(colour) / len(colour)
        deviations.append((sum((value - mean) ** 2 for value in colour) / len(colour)) ** 0.5)
    differences = sorted(max(pixel) - min(pixel) for pixel in every)

    def share(values: list[float], part: float) -> float:
        below = int(part * (len(values) - 1))
        return values[below] + (part * (len(values) - 1) - below) * (values[below + 1] - values[below])

    assert found["contrast"] == pytest.approx(max(deviations), abs=1e-5)
    assert found["shadows"] == pytest.approx(share(brightness, 0.05), abs=1e-5)
    assert found["highlights"] == pytest.approx(share(brightness, 0.95), abs=1e-5)
    assert found["colour"] == pytest.approx(share(differences, 0.95), abs=1e-5)
