"""Pixels of torch datasets."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset

from lond.data.read.files import load_into_memory
from lond.data.read.wrapped import DatasetPixels
from lond.errors import DataError
from lond.types import Pixels, Request


class _Pictures(Dataset[tuple[Any, Any]]):
    def __init__(self, images: list[Any], labels: list[Any]) -> None:
        self.images, self.own_labels = images, labels

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = self.images[index]
        if isinstance(image, Exception):
            raise image
        return image, self.own_labels[index]


def _array(red: int) -> np.ndarray:
    pixels = np.zeros((12, 10, 3), dtype=np.uint8)
    pixels[..., 0] = red
    return pixels


def _kinds() -> list[Any]:
    tensor = torch.from_numpy(_array(30)).permute(2, 0, 1)
    return [Image.fromarray(_array(10)), _array(20), tensor, tensor / 255, _array(50) / 255.0]


@pytest.mark.parametrize("workers", [0, 2])
def test_all_kinds_of_images(workers: int) -> None:
    pixels: Pixels = DatasetPixels(_Pictures(_kinds(), [0] * 5), 8, num_workers=workers)
    first, second = pixels.stream(
        [Request(torch.tensor([4, 0, 1])), Request(torch.tensor([2, 3]), torch.zeros(2, 2, 2))]
    )
    assert first[0, :, 0, 0, 0].tolist() == [50, 10, 20]
    assert second.shape == (2, 2, 3, 8, 8) and (second[:, :, 0] == 30).all()


def test_grey_images_and_one_channel() -> None:
    grey = [torch.full((1, 6, 6), 9, dtype=torch.uint8), np.full((6, 6), 9, dtype=np.uint8)]
    dataset = _Pictures([grey[0], Image.fromarray(grey[1])], [0, 1])
    assert (load_into_memory(DatasetPixels(dataset)).images == 9).all()
    assert load_into_memory(DatasetPixels(dataset, channels=1)).images.shape == (2, 1, 6, 6)


def test_damaged_images_turn_grey_and_others_are_errors() -> None:
    pixels = DatasetPixels(_Pictures([_array(1), OSError("truncated"), None], [0, 1, 0]), 8)
    assert (load_into_memory(pixels).images[1:] == 128).all()
    assert [problem.id for problem in pixels.problems] == ["1", "2"]
    for wrong, message in (("text", "not str"), (torch.randn(3, 8, 8), "normalisation")):
        with pytest.raises(DataError, match=message):
            DatasetPixels(_Pictures([wrong], [0]))
    with pytest.raises(DataError, match="empty"):
        DatasetPixels(_Pictures([], []))
    with pytest.raises(DataError, match="first image"):
        DatasetPixels(_Pictures([OSError("bad")], [0]))


def test_fingerprint_follows_the_images() -> None:
    one, same, other = (DatasetPixels(_Pictures([_array(red)] * 3, [0] * 3)) for red in (1, 1, 2))
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
