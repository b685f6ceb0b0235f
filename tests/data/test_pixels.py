"""Images in memory and index views."""

import numpy as np
import pytest
import torch

from lond.data.pixels import ArrayPixels, SubsetPixels, subset
from lond.errors import DataError
from lond.types import Pixels, Request


def _images(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((5, 8, 6, 3), (5, 3, 8, 6)),
        ((5, 3, 8, 6), (5, 3, 8, 6)),
        ((5, 8, 6), (5, 1, 8, 6)),
        ((5, 8, 6, 1), (5, 1, 8, 6)),
        ((5, 1, 8, 6), (5, 1, 8, 6)),
        ((5, 8, 6, 4), (5, 3, 8, 6)),
        ((5, 4, 8, 6), (5, 3, 8, 6)),
        ((5, 3, 4, 4), (5, 3, 4, 4)),
        ((5, 4, 4, 3), (5, 3, 4, 4)),
        ((0, 8, 6, 3), (0, 3, 8, 6)),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_layouts(shape: tuple[int, ...], expected: tuple[int, ...], kind: object) -> None:
    pixels = ArrayPixels(kind(_images(*shape)))  # type: ignore[operator]
    assert tuple(pixels.images.shape) == expected
    assert pixels.images.is_contiguous()
    assert (len(pixels), pixels.channels, pixels.size) == (expected[0], expected[1], expected[2:])


def test_values_survive_the_change_of_layout() -> None:
    images = _images(2, 8, 6, 3)
    assert np.array_equal(ArrayPixels(images).images.numpy(), images.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("shape", [(5, 3, 8, 3), (5, 1, 1, 3), (5, 4, 9, 4)])
def test_ambiguous_layout_asks(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="layout="):
        ArrayPixels(_images(*shape))
    assert ArrayPixels(_images(5, 3, 8, 3), layout="NCHW").size == (8, 3)
    assert ArrayPixels(_images(5, 3, 8, 3), layout="NHWC").size == (3, 8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_floats_are_scaled_and_rounded(dtype: torch.dtype) -> None:
    pixels = ArrayPixels(torch.tensor([0.0, 0.5, 1.0], dtype=dtype).reshape(3, 1, 1))
    assert pixels.images.flatten().tolist() == [0, 128, 255]


@pytest.mark.parametrize(
    ("images", "advice"),
    [
        (np.full((1, 8, 8, 3), 200.0), "divide"),
        (np.full((1, 8, 8, 3), -0.1), "normalisation"),
        (np.full((1, 8, 8, 3), np.nan), r"\[0, 1\]"),
        (np.ones((1, 8, 8, 3), dtype=np.int64), "uint8"),
        (np.ones((1, 8, 8, 3), dtype=bool), "uint8"),
        (np.array([["a"]]), "numbers"),
        (np.array([None]), "numbers"),
        (np.ones((8, 8), dtype=np.uint8), "shape"),
        (np.ones((1, 8, 8, 5), dtype=np.uint8), "channel"),
        (np.ones((2, 0, 8, 3), dtype=np.uint8), "no pixels"),
    ],
)
def test_other_types_and_ranges_say_what_to_do(images: np.ndarray, advice: str) -> None:
    with pytest.raises(DataError, match=advice):
        ArrayPixels(images)


def test_awkward_memory_is_copied() -> None:
    images = _images(4, 8, 6, 3)
    read_only = images.copy()
    read_only.flags.writeable = False
    big_endian = (images / 255).astype(">f4")
    for awkward in (images[::-1][::-1], read_only, big_endian):
        assert np.array_equal(ArrayPixels(awkward).images.numpy(), images.transpose(0, 3, 1, 2))


def test_stream_follows_the_requests_and_ignores_crops() -> None:
    pixels: Pixels = ArrayPixels(_images(5, 8, 6, 3))
    requests = [Request(torch.tensor([4, 0, 0])), Request(torch.tensor([1]), torch.rand(2, 1, 2))]
    first, second = pixels.stream(requests)
    assert first.shape == (1, 3, 3, 8, 6)
    assert second.shape == (1, 1, 3, 8, 6)
    assert torch.equal(first[0, 1], first[0, 2])
    assert not pixels.crops_on_read


def test_fingerprint_changes_with_any_pixel_and_the_shape() -> None:
    images = _images(5, 8, 6, 3)
    before = ArrayPixels(images).fingerprint()
    assert before == ArrayPixels(images.copy()).fingerprint()
    assert len(before) == 16 and int(before, 16) >= 0
    assert before != ArrayPixels(images.reshape(5, 6, 8, 3)).fingerprint()
    images[4, 7, 5, 2] ^= 1
    assert before != ArrayPixels(images).fingerprint()


def test_subset_slices_arrays_and_views_the_rest() -> None:
    pixels = ArrayPixels(_images(5, 8, 6, 3))
    assert isinstance(subset(pixels, [3, 1]), ArrayPixels)
    view = SubsetPixels(pixels, torch.tensor([3, 1, 4]))
    again = subset(view, torch.tensor([2, 0]))
    assert isinstance(again, SubsetPixels) and again.base is pixels
    assert torch.equal(next(again.stream([Request(torch.tensor([0, 1]))]))[0], pixels.images[[4, 3]])
    assert (len(again), again.channels, again.size, again.crops_on_read) == (2, 3, (8, 6), False)
    assert again.fingerprint() != view.fingerprint() != pixels.fingerprint()
    assert len(subset(pixels, [])) == 0


def test_subset_refuses_indices_outside() -> None:
    pixels = ArrayPixels(_images(5, 8, 6, 3))
    for indices in ([5], [-1]):
        with pytest.raises(DataError, match=r"0\.\.4"):
            subset(pixels, indices)
