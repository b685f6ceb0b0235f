"""Pictures of a store as samples."""

from __future__ import annotations

import io
from dataclasses import dataclass

import pytest
import torch
from PIL import Image

from lond.data.images import EncodedImage
from lond.data.options import ReadOptions
from lond.data.read.stored import StoredPixels, stored_samples
from lond.errors import DataError
from lond.types import Problem, Request

OPTIONS = ReadOptions(num_workers=0)


@dataclass(frozen=True)
class Store:
    contents: tuple[bytes, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.contents)

    def open(self, index: int) -> EncodedImage:
        return EncodedImage(self.contents[index])

    def state(self) -> bytes:
        return repr(self.contents).encode()


def picture(width: int, height: int, colour: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(file, "PNG")
    return file.getvalue()


def test_the_side_is_the_median_short_side() -> None:
    store = Store((picture(10, 20), picture(30, 14), picture(900, 800), b"broken"), tuple("abcd"))
    pixels = StoredPixels(store, OPTIONS)
    assert pixels.size == (14, 14) and StoredPixels(store, ReadOptions(size=5)).size == (5, 5)
    list(pixels.stream([Request(torch.arange(4))]))
    assert [problem.id for problem in pixels.problems] == ["d"]
    damaged = Store((b"broken",) * 81 + (picture(10, 20),), tuple(map(str, range(82))))
    assert StoredPixels(damaged, OPTIONS).size == (10, 10), "the only good one is no sample"
    with pytest.raises(DataError, match="can be read from 1 picture; check a"):
        StoredPixels(Store((b"broken",), ("a",)), OPTIONS)


def test_the_fingerprint_follows_the_content() -> None:
    one, other = (StoredPixels(Store((picture(8, 8, colour),), ("a",)), OPTIONS) for colour in ("red", "blue"))
    assert one.fingerprint() != other.fingerprint()


def test_samples_are_named_and_labelled() -> None:
    store = Store((picture(8, 8),) * 3, tuple("abc"))
    samples = stored_samples(store, ["x", None, "y"], OPTIONS, split="train", class_names=None, origin="here")
    assert (samples.ids, samples.class_names, samples.labels.tolist()) == (("a", "b", "c"), ("x", "y"), [0, -2, 1])
    foreign = stored_samples(store, ["x", "z", "y"], OPTIONS, split="test", class_names=("y", "x"), origin="here")
    assert foreign.labels.tolist() == [1, -1, 0]
    with pytest.raises(DataError, match="here holds no picture that can be used; the first: a: lost"):
        stored_samples(
            Store((), ()), [], OPTIONS, split="train", class_names=None, origin="here", problems=[Problem("a", "lost")]
        )
