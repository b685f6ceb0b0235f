"""Hashes of pixels, and perceptual hashes that survive scaling."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from lond.frozen.hashes import PerceptualHashes, _cell_means, perceptual_hashes, pixel_hash


def picture(seed: int, side: int = 32) -> Image.Image:
    """Return a smooth picture, as photographs are."""
    noise = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((side, side), Image.Resampling.BICUBIC)


def hashes_of(pictures: list[Image.Image]) -> PerceptualHashes:
    images: list[Tensor] = [torch.from_numpy(np.array(image)).permute(2, 0, 1) for image in pictures]
    return perceptual_hashes(torch.stack(images))


def test_the_shape_counts_in_the_hash_of_pixels() -> None:
    images = torch.randint(0, 256, (3, 3, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    images[2] = images[0]
    first, second, third = map(pixel_hash, images)
    assert first == third != second
    zeros = torch.zeros(16, dtype=torch.uint8)
    assert pixel_hash(zeros.view(1, 2, 8)) != pixel_hash(zeros.view(1, 4, 4))


def test_no_images() -> None:
    found = perceptual_hashes(torch.zeros(0, 3, 4, 4, dtype=torch.uint8))
    assert (found.bits.shape, found.small.shape, found.vectors().shape) == ((0, 64), (0, 768), (0, 768))


def test_compression_and_scaling_change_little_another_picture_much() -> None:
    pictures = [picture(seed) for seed in range(12)]
    changed = []
    for image in pictures:
        buffer = io.BytesIO()
        image.resize((40, 40), Image.Resampling.BILINEAR).save(buffer, "JPEG", quality=70)
        again = Image.open(io.BytesIO(buffer.getvalue())).convert("RGB").point(lambda value: value * 0.9)
        changed.append(again.resize((32, 32), Image.Resampling.BILINEAR))
    first, second = hashes_of(pictures), hashes_of(changed)
    distances = (first.bits[:, None] != second.bits[None]).sum(dim=2)
    others = ~torch.eye(12, dtype=torch.bool)
    assert distances.diag().max() <= 4
    assert distances[others].min() > 10
    one, other = first.vectors(), second.vectors()
    assert (one * other).sum(dim=1).min() > 0.98
    assert (one @ other.T)[others].max() < 0.9


@pytest.mark.parametrize("shape", [(2, 1, 3, 5), (2, 3, 9, 9)])
def test_bits_by_hand(shape: tuple[int, ...]) -> None:
    falling = torch.arange(shape[-1], 0, -1, dtype=torch.uint8).expand(shape[1:]) * 10
    bits = perceptual_hashes(torch.stack([falling, falling.flip(-1)])).bits
    assert bits[0].any() and not bits[1].any()
    assert shape[-1] < 9 or bits[0].all()


def test_small_pictures_by_hand() -> None:
    grey = torch.zeros(1, 1, 32, 32, dtype=torch.uint8)
    grey[..., :2, :2] = torch.tensor([[10, 20], [30, 41]])
    small = perceptual_hashes(grey).small.view(3, 16, 16)
    assert small[:, 0, 0].tolist() == [25, 25, 25]
    assert int(small.sum()) == 75


@pytest.mark.parametrize("shape", [(4, 3, 224, 224), (3, 1, 5, 7), (2, 3, 33, 50), (2, 3, 1, 1)])
def test_cells_are_those_of_adaptive_pooling(shape: tuple[int, ...]) -> None:
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0)).double()
    for rows, columns in ((8, 9), (16, 16)):
        expected = functional.adaptive_avg_pool2d(images, (rows, columns))
        assert torch.allclose(_cell_means(images.float(), rows, columns).double(), expected, atol=1e-4)


def test_many_images_are_hashed_as_one_by_one() -> None:
    random = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (19, 3, 21, 33), dtype=torch.uint8, generator=random)
    whole, single = perceptual_hashes(images), [perceptual_hashes(image[None]) for image in images]
    assert torch.equal(whole.bits, torch.cat([one.bits for one in single]))
    assert torch.equal(whole.small, torch.cat([one.small for one in single]))
