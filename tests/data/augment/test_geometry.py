"""Crops and flips against slow loops, affine maps against PIL and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from lond.data.augment.geometry import affine, affine_matrix, crop_and_flip


def random_images(*shape: int) -> Tensor:
    return torch.randint(0, 256, shape, generator=torch.Generator().manual_seed(sum(shape))).to(torch.uint8)


def slow_crop_and_flip(images: Tensor, offsets: Tensor, flips: Tensor, padding: int) -> Tensor:
    result = torch.zeros_like(images)
    batch, _, height, width = images.shape
    for number in range(batch):
        for row in range(height):
            for column in range(width):
                source_row = row + int(offsets[number, 0]) - padding
                place = width - 1 - column if flips[number] else column
                source_column = place + int(offsets[number, 1]) - padding
                if 0 <= source_row < height and 0 <= source_column < width:
                    result[number, :, row, column] = images[number, :, source_row, source_column]
    return result


def matrix_of(
    size: tuple[int, int],
    angle: float = 0,
    shear: tuple[float, float] = (0, 0),
    shift: tuple[float, float] = (0, 0),
    about_centre: bool = False,
) -> Tensor:
    angles, shears, shifts = torch.tensor([float(angle)]), torch.tensor([shear]), torch.tensor([shift])
    return affine_matrix(size, angle=angles, shear=shears, shift=shifts, shear_about_centre=about_centre)


@pytest.mark.parametrize("shape", [(9, 3, 6, 6), (9, 1, 5, 8), (1, 3, 7, 4)], ids=str)
@pytest.mark.parametrize("padding", [1, 4])
def test_crop_and_flip_agree_with_a_slow_loop(shape: tuple[int, ...], padding: int) -> None:
    images = random_images(*shape)
    generator = torch.Generator().manual_seed(1)
    offsets = torch.randint(2 * padding + 1, (shape[0], 2), generator=generator)
    offsets[0] = torch.tensor([0, 2 * padding])
    flips = torch.rand(shape[0], generator=generator) < 0.5
    result = crop_and_flip(images, offsets, flips, padding)
    assert torch.equal(result, slow_crop_and_flip(images, offsets, flips, padding))


def test_crop_alone_and_flip_alone() -> None:
    images = random_images(4, 3, 5, 6)
    flips = torch.tensor([True, False, True, False])
    flipped = crop_and_flip(images, None, flips)
    assert torch.equal(flipped[::2], images[::2].flip(3))
    assert torch.equal(flipped[1::2], images[1::2])
    assert torch.equal(crop_and_flip(images, torch.full((4, 2), 2), None, 2), images)
    assert torch.equal(crop_and_flip(images, None, None), images)


@pytest.mark.parametrize("size", [(16, 16), (21, 14)])
@pytest.mark.parametrize(
    ("angle", "shear", "shift"),
    [
        (30.0, (0, 0), (0, 0)),
        (-6.7, (0, 0), (0, 0)),
        (0, (0.27, 0), (0, 0)),
        (0, (-0.3, 0), (0, 0)),
        (0, (0, 0.23), (0, 0)),
        (0, (0, 0), (150 / 331, 0)),
        (0, (0, 0), (-0.4, 0)),
        (0, (0, 0), (0, 0.17)),
    ],
)
def test_nearest_affine_agrees_with_pil(
    size: tuple[int, int], angle: float, shear: tuple[float, float], shift: tuple[float, float]
) -> None:
    height, width = size
    images = random_images(1, 3, height, width)
    picture = Image.fromarray(np.ascontiguousarray(images[0].permute(1, 2, 0).numpy()))
    grey = (128, 128, 128)
    if angle:
        turned = picture.rotate(angle, resample=Image.Resampling.NEAREST, fillcolor=grey)
    else:
        data = (1, shear[0], shift[0] * width, shear[1], 1, shift[1] * height)
        turned = picture.transform(
            picture.size, Image.Transform.AFFINE, data, resample=Image.Resampling.NEAREST, fillcolor=grey
        )
    expected = torch.from_numpy(np.array(turned)).permute(2, 0, 1)
    result = affine(images, matrix_of(size, angle, shear, shift))[0]
    # PIL calculates in fixed point, so a place on the line between two pixels may fall to the other one.
    assert (result == expected).float().mean() >= 0.99


def test_quarter_turn_and_whole_shift_by_hand() -> None:
    image = torch.arange(9, dtype=torch.uint8).view(1, 1, 3, 3)
    for bilinear in (False, True):
        turned = affine(image, matrix_of((3, 3), angle=90), bilinear=bilinear)
        assert turned[0, 0].tolist() == [[2, 5, 8], [1, 4, 7], [0, 3, 6]]
        shifted = affine(image, matrix_of((3, 3), shift=(1 / 3, 0)), fill=99, bilinear=bilinear)
        assert shifted[0, 0].tolist() == [[1, 2, 99], [4, 5, 99], [7, 8, 99]]


def test_bilinear_mixes_neighbours_and_fill() -> None:
    image = torch.tensor([[[[10, 20, 40]]]], dtype=torch.uint8)
    result = affine(image, matrix_of((1, 3), shift=(0.5 / 3, 0)), fill=100, bilinear=True)
    assert result.flatten().tolist() == [15, 30, 70]


def test_shear_about_the_centre_keeps_the_centre() -> None:
    matrix = matrix_of((10, 6), angle=20, shear=(0.2, -0.1), about_centre=True)[0]
    centre = torch.tensor([3.0, 5.0, 1.0])
    assert torch.allclose(matrix @ centre, centre[:2])


def test_each_image_has_its_own_map() -> None:
    images = random_images(3, 1, 8, 8)
    matrix = torch.cat([matrix_of((8, 8)), matrix_of((8, 8), angle=90), matrix_of((8, 8), shift=(0.25, 0))])
    result = affine(images, matrix)
    assert torch.equal(result[0], images[0])
    assert torch.equal(result[1], images[1].rot90(1, (1, 2)))
    assert torch.equal(result[2, :, :, :6], images[2, :, :, 2:])


@pytest.mark.parametrize("bilinear", [False, True])
def test_identity_and_empty_batch(bilinear: bool) -> None:
    images = random_images(2, 3, 9, 7)
    assert torch.equal(affine(images, matrix_of((9, 7)).repeat(2, 1, 1), bilinear=bilinear), images)
    assert affine(images[:0], torch.zeros(0, 2, 3), bilinear=bilinear).shape == (0, 3, 9, 7)
    nobody = torch.zeros(0, 2, dtype=torch.int64)
    assert crop_and_flip(images[:0], nobody, torch.zeros(0, dtype=torch.bool), 2).shape == (0, 3, 9, 7)
