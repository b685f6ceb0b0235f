"""Colour operations against PIL."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from lond.data.augment import colour

FACTORS = [0.1, 0.5, 0.9, 1.0, 1.3, 1.9]
BITS = [8, 7, 6, 5, 4, 1]
THRESHOLDS = [0.0, 28.44, 128.0, 199.1, 255.0, 256.0]

ENHANCERS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "brightness": lambda image, factor: ImageEnhance.Brightness(image).enhance(factor),
    "contrast": lambda image, factor: ImageEnhance.Contrast(image).enhance(factor),
    "color": lambda image, factor: ImageEnhance.Color(image).enhance(factor),
    "sharpness": lambda image, factor: ImageEnhance.Sharpness(image).enhance(factor),
}
SHAPES = [(6, 3, 16, 16), (6, 1, 16, 16), (6, 3, 20, 13), (6, 1, 40, 33), (6, 3, 3, 3), (6, 3, 2, 5), (1, 3, 32, 32)]


def random_images(shape: tuple[int, ...], kind: str = "uniform") -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    images = torch.randint(0, 256, shape, generator=generator).to(torch.uint8)
    if kind == "narrow":
        return images // 5 + 60
    if kind == "flat":
        return torch.full_like(images, 77)
    return images


def pil_of(image: Tensor) -> Image.Image:
    array = image.numpy()
    return Image.fromarray(array[0] if len(array) == 1 else np.ascontiguousarray(array.transpose(1, 2, 0)))


def tensor_of(image: Image.Image) -> Tensor:
    array = torch.from_numpy(np.array(image))
    return array[None] if array.ndim == 2 else array.permute(2, 0, 1)


def expected(images: Tensor, operation: Callable[[Image.Image, float], Image.Image], values: list[float]) -> Tensor:
    return torch.stack(
        [tensor_of(operation(pil_of(image), value)) for image, value in zip(images, values, strict=False)]
    )


@pytest.mark.parametrize("kind", ["uniform", "narrow", "flat"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ENHANCERS)
def test_enhancers_agree_with_pil_within_one_level(name: str, shape: tuple[int, ...], kind: str) -> None:
    images = random_images(shape, kind)
    result = getattr(colour, name)(images, torch.tensor(FACTORS[: len(images)]))
    assert result.dtype == torch.uint8
    assert (result.int() - expected(images, ENHANCERS[name], FACTORS).int()).abs().max() <= 1


@pytest.mark.parametrize("kind", ["uniform", "narrow", "flat"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operations_without_parameter_equal_pil(shape: tuple[int, ...], kind: str) -> None:
    images = random_images(shape, kind)
    nothing = [0.0] * len(images)
    assert torch.equal(colour.invert(images), expected(images, lambda image, _: ImageOps.invert(image), nothing))
    assert torch.equal(colour.equalize(images), expected(images, lambda image, _: ImageOps.equalize(image), nothing))
    assert torch.equal(
        colour.autocontrast(images), expected(images, lambda image, _: ImageOps.autocontrast(image), nothing)
    )


def test_equalize_equals_pil_where_it_does_something() -> None:
    images = (random_images((12, 3, 48, 31)).float() ** 2 / 300).to(torch.uint8)
    result = colour.equalize(images)
    assert not torch.equal(result, images)
    assert torch.equal(result, expected(images, lambda image, _: ImageOps.equalize(image), [0.0] * 12))


def test_equalize_clips_tables_that_run_over_255() -> None:
    image = torch.zeros(1, 1, 20, 25, dtype=torch.uint8)
    image.view(-1)[:250] = 100
    image.view(-1)[-1] = 200
    assert torch.equal(colour.equalize(image), expected(image, lambda picture, _: ImageOps.equalize(picture), [0.0]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_posterize_and_solarize_equal_pil(shape: tuple[int, ...]) -> None:
    images = random_images(shape)
    few = len(images)
    posterized = expected(images, lambda image, bits: ImageOps.posterize(image, int(bits)), [*map(float, BITS)])
    assert torch.equal(colour.posterize(images, torch.tensor(BITS[:few], dtype=torch.float32)), posterized)
    solarized = expected(images, ImageOps.solarize, THRESHOLDS)  # type: ignore[arg-type]
    assert torch.equal(colour.solarize(images, torch.tensor(THRESHOLDS[:few])), solarized)


@pytest.mark.parametrize("shape", [(5, 3, 12, 9), (5, 1, 8, 8)], ids=str)
def test_cutout_agrees_with_a_slow_loop(shape: tuple[int, ...]) -> None:
    images = random_images(shape)
    fraction = torch.tensor([0.0, 0.2, 0.5, 1.0, 2.0])
    centres = torch.tensor([[0.5, 0.5], [0.1, 0.9], [0.0, 0.0], [1.0, 1.0], [0.3, 0.6]])
    reference = images.clone()
    height, width = shape[2:]
    for number in range(5):
        for row in range(height):
            for column in range(width):
                down = abs(row + 0.5 - centres[number, 0].item() * height)
                right = abs(column + 0.5 - centres[number, 1].item() * width)
                reach = fraction[number].item() / 2
                if down < reach * height and right < reach * width:
                    reference[number, :, row, column] = 128
    assert torch.equal(colour.cutout(images, fraction, centres), reference)


def test_every_operation_takes_an_empty_batch_and_keeps_its_input() -> None:
    for batch in (0, 2):
        images = random_images((batch, 3, 8, 6))
        before, values = images.clone(), torch.full((batch,), 4.0)
        results = [getattr(colour, name)(images, values) for name in (*ENHANCERS, "posterize", "solarize")]
        results += [getattr(colour, name)(images) for name in ("invert", "autocontrast", "equalize")]
        results.append(colour.cutout(images, values, torch.rand(batch, 2)))
        assert all(result.shape == images.shape and result.dtype == torch.uint8 for result in results)
        assert torch.equal(images, before)
