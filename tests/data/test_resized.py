"""Images at another size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from lond.data.pixels import ArrayPixels, subset
from lond.data.resized import ResizedPixels, at_side
from lond.data.sources import load
from lond.types import Request


def test_images_in_memory_are_resized_when_asked_for() -> None:
    values = torch.randint(0, 256, (3, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    pixels = ArrayPixels(values)
    assert at_side(pixels, 8) is pixels
    large = at_side(pixels, 16)
    assert isinstance(large, ResizedPixels)
    assert (large.size, large.channels, len(large)) == ((16, 16), 3, 3)
    (images,) = large.stream([Request(torch.tensor([2, 0]))])
    assert images.shape == (1, 2, 3, 16, 16)
    assert images.dtype == torch.uint8
    # Bicubic enlarging by a whole factor keeps the mean of each image nearly.
    assert torch.allclose(images[0].float().mean((1, 2, 3)), values[[2, 0]].float().mean((1, 2, 3)), atol=3)
    assert large.fingerprint() != pixels.fingerprint()
    assert large.fingerprint() != at_side(pixels, 24).fingerprint()


def test_extreme_values_do_not_wrap_around() -> None:
    values = torch.zeros(1, 1, 4, 4, dtype=torch.uint8)
    values[..., 2:] = 255
    (images,) = ResizedPixels(ArrayPixels(values), 32).stream([Request(torch.tensor([0]))])
    row = images[0, 0, 0, 16]
    assert row[0] == 0
    assert row[-1] == 255


def test_files_are_read_anew_at_the_side(tmp_path: Path) -> None:
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for index in range(2):
            picture = np.random.default_rng(index).integers(0, 256, (40, 30, 3), dtype=np.uint8)
            Image.fromarray(picture).save(tmp_path / label / f"{index}.png")
    samples = load(tmp_path)
    assert samples.pixels.size == (30, 30)
    small = at_side(subset(samples.pixels, torch.tensor([3, 1])), 20)
    assert small.size == (20, 20)
    (found,) = small.stream([Request(torch.tensor([0, 1]))])
    (direct,) = load(tmp_path, size=20).pixels.stream([Request(torch.tensor([3, 1]))])
    assert torch.equal(found, direct)
    assert samples.pixels.size == (30, 30)
    assert small.fingerprint() != subset(samples.pixels, torch.tensor([3, 1])).fingerprint()
