"""Resizing and cutting out squares."""

import numpy as np
import pytest
from PIL import Image, ImageOps

from lond.data.squares import cut_squares, default_workers, padded_square


def _ramp(width: int, height: int) -> Image.Image:
    """Red grows to the right, green downwards."""
    red = np.broadcast_to(np.linspace(0, 255, width)[None, :], (height, width))
    green = np.broadcast_to(np.linspace(0, 255, height)[:, None], (height, width))
    return Image.fromarray(np.stack([red, green, 0 * red], axis=2).astype(np.uint8))


def test_an_image_of_the_right_size_is_untouched() -> None:
    image = _ramp(16, 16)
    assert np.array_equal(np.asarray(cut_squares(image, 16, [(0.3, 0.9)])[0]), np.asarray(image))


def test_same_as_pillow_resize_and_centre_crop() -> None:
    image = _ramp(80, 40)
    expected = image.resize((40, 20), Image.Resampling.BILINEAR).crop((10, 0, 30, 20))
    assert np.array_equal(np.asarray(cut_squares(image, 20, [(0.5, 0.5)])[0]), np.asarray(expected))


def test_positions_are_vertical_then_horizontal() -> None:
    left, right = cut_squares(_ramp(60, 20), 20, [(0.5, 0.0), (0.5, 1.0)])
    assert np.asarray(left)[..., 0].max() < np.asarray(right)[..., 0].min()
    top, bottom = cut_squares(_ramp(20, 60), 20, [(0.0, 0.5), (1.0, 0.5)])
    assert np.asarray(top)[..., 1].max() < np.asarray(bottom)[..., 1].min()


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 2), (1, 30_000), (30_000, 1), (33, 32)])
def test_every_shape_gives_squares_without_filling_the_memory(shape: tuple[int, int]) -> None:
    squares = cut_squares(Image.new("RGB", shape), 32, [(0, 0), (0.5, 0.5), (1, 1)])
    assert [square.size for square in squares] == [(32, 32)] * 3


def test_strips_are_cut_at_the_asked_end() -> None:
    left, right = cut_squares(_ramp(2000, 10), 8, [(0.5, 0.0), (0.5, 1.0)])
    assert np.asarray(left)[..., 0].max() < 10
    assert np.asarray(right)[..., 0].min() > 245


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("shape", [(80, 40), (40, 80), (33, 32), (7, 7), (500, 21), (19, 300)])
def test_whole_pictures_are_padded_as_pillow_pads_them(shape: tuple[int, int], mode: str) -> None:
    image = _ramp(*shape).convert(mode)
    colour = 128 if mode == "L" else (128, 128, 128)
    expected = ImageOps.pad(image, (32, 32), Image.Resampling.BILINEAR, color=colour)
    assert np.array_equal(np.asarray(padded_square(image, 32)), np.asarray(expected))


def test_of_a_thin_strip_a_line_is_left() -> None:
    square = np.asarray(padded_square(Image.new("L", (30_000, 1), 9), 32))
    assert (square == 9).sum() == 32 and (square == 128).sum() == 31 * 32


def test_default_workers_leave_a_core_free(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, workers in ((1, 0), (2, 1), (64, 4), (None, 0)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert default_workers() == workers
