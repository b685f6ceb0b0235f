"""Pictures resized by PyTorch: as Pillow resizes them, up to one level."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from lond.data.quick_squares import quick_resized, quick_square, quick_whole
from lond.data.squares import CENTRE, cut_squares


def picture(width: int, height: int, mode: str) -> Image.Image:
    values = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values).convert(mode)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("extent", [(125, 94), (94, 125), (56, 56), (20, 17), (15, 100), (6, 60), (57, 55)])
def test_squares_are_those_of_pillow_up_to_one_level(extent: tuple[int, int], mode: str) -> None:
    whole = picture(*extent, mode)
    (cut,) = cut_squares(whole, 56, [CENTRE])
    wanted = np.asarray(cut).reshape(56, 56, -1).transpose(2, 0, 1).astype(int)
    found = quick_square(whole, 56)
    assert found.dtype == torch.uint8 and found.is_contiguous()
    assert np.abs(found.numpy() - wanted).max() <= 1


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("extent", [(125, 94), (94, 125), (56, 56), (20, 17), (15, 100), (600, 6), (57, 55)])
def test_whole_pictures_are_those_of_pillow_up_to_one_level(extent: tuple[int, int], mode: str) -> None:
    whole = picture(*extent, mode)
    colour = 128 if mode == "L" else (128, 128, 128)
    padded = ImageOps.pad(whole, (56, 56), Image.Resampling.BILINEAR, color=colour)
    wanted = np.asarray(padded).reshape(56, 56, -1).transpose(2, 0, 1).astype(int)
    found = quick_whole(whole, 56)
    assert found.dtype == torch.uint8 and found.is_contiguous()
    assert np.abs(found.numpy() - wanted).max() <= 1


def test_small_pictures_are_those_of_pillow_up_to_one_level() -> None:
    whole = picture(90, 70, "RGB")
    wanted = np.asarray(whole.resize((45, 35), Image.Resampling.BICUBIC)).transpose(2, 0, 1).astype(int)
    assert np.abs(quick_resized(whole, 45, 35, "bicubic").numpy() - wanted).max() <= 1


def test_a_picture_of_the_right_size_stays_as_it_is() -> None:
    whole = picture(9, 7, "RGB")
    assert np.array_equal(quick_resized(whole, 9, 7).permute(1, 2, 0).numpy(), np.asarray(whole))
