"""Images read once: hashes, measures, thumbnail and the network's input from the same decoded picture."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from lond.data.images import UnreadableImage
from lond.data.pixels import SubsetPixels
from lond.data.squares import CENTRE, PictureStore, SquarePixels, cut_squares
from lond.frozen.hashes import PerceptualHashes, perceptual_hashes, pixel_hash
from lond.frozen.measures import Measured, measure_picture, measure_pixels
from lond.types import Pixels, Request

BATCH = 64
"""Images that are read, and that the network sees, at once."""

THUMBNAIL = 96
"""Longest side of a thumbnail, in pixels."""


@dataclass(frozen=True)
class Wanted:
    """What is made of each image, unless its content is known already."""

    input_side: int = 0
    """Side of the squares for the network; 0 makes none."""
    perceptual: bool = False
    """Make perceptual hashes and measures, and with ``thumbnails`` thumbnails of images that do not lie in memory."""
    thumbnails: bool = False
    known_inputs: frozenset[str] = frozenset()
    known_pictures: frozenset[str] = frozenset()

    def input_of(self, content_hash: str) -> bool:
        """Tell whether the network must see an image."""
        return bool(self.input_side) and content_hash not in self.known_inputs

    def picture_of(self, content_hash: str) -> bool:
        """Tell whether the perceptual hash, the measures and the thumbnail of an image are wanted."""
        return self.perceptual and content_hash not in self.known_pictures


@dataclass
class Part:
    """Some images in order: content hashes ("" if unreadable) and row -> reason, or what was made of the row."""

    hashes: list[str] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    input_rows: list[int] = field(default_factory=list)
    inputs: Tensor = field(default_factory=lambda: torch.empty(0))
    picture_rows: list[int] = field(default_factory=list)
    perceptual: PerceptualHashes = field(default_factory=lambda: perceptual_hashes(torch.empty(0)))
    measures: list[Measured] = field(default_factory=list)
    thumbnails: list[bytes] = field(default_factory=list)


def read_parts(pixels: Pixels, wanted: Wanted) -> Iterator[Part]:
    """Yield all images in order; files are read by the pixels' worker processes, each file once."""
    base, places = base_of(pixels)
    if not isinstance(base, SquarePixels):
        requests = [Request(part) for part in torch.arange(len(pixels)).split(BATCH)]
        for images in pixels.stream(requests):
            yield _part_in_memory(images[0], wanted)
        return
    reader = _Reader(base.store, base.size[0], base.channels, wanted)
    batches = [places[start : start + BATCH] for start in range(0, len(places), BATCH)]
    workers = min(base.num_workers, len(batches))
    yield from DataLoader(reader, batch_size=None, sampler=batches, num_workers=workers, generator=torch.Generator())


def base_of(pixels: Pixels) -> tuple[Pixels, list[int]]:
    """Return the pixels that a view is of, and the places in them that it shows."""
    if isinstance(pixels, SubsetPixels):
        base, places = base_of(pixels.base)
        return base, [places[index] for index in pixels.indices.tolist()]
    return pixels, list(range(len(pixels)))


def _part_in_memory(images: Tensor, wanted: Wanted) -> Part:
    part = Part([pixel_hash(image) for image in images])
    part.input_rows = [row for row, content in enumerate(part.hashes) if wanted.input_of(content)]
    part.inputs = images[part.input_rows]
    part.picture_rows = [row for row, content in enumerate(part.hashes) if wanted.picture_of(content)]
    part.perceptual = perceptual_hashes(images[part.picture_rows])
    height, width = images.shape[-2:]
    shown = images[part.picture_rows].permute(0, 2, 3, 1).numpy()
    part.measures = [measure_pixels(pixels, width, height) for pixels in shown]
    part.thumbnails = [b""] * len(part.picture_rows)
    return part


@dataclass(frozen=True)
class _Reader(Dataset[Part]):
    store: PictureStore
    side: int
    channels: int
    wanted: Wanted

    def __getitem__(self, indices: Sequence[int]) -> Part:
        part = Part()
        inputs: list[Tensor] = []
        squares: list[Tensor] = []
        for row, index in enumerate(indices):
            try:
                part.hashes.append(self._read(index, row, part, inputs, squares))
            except UnreadableImage as error:
                part.hashes.append("")
                part.reasons[row] = error.reason
        # One tensor each: every tensor that leaves a worker takes a file handle.
        part.inputs = torch.stack(inputs) if inputs else part.inputs
        part.perceptual = perceptual_hashes(torch.stack(squares)) if squares else part.perceptual
        return part

    def _read(self, index: int, row: int, part: Part, inputs: list[Tensor], squares: list[Tensor]) -> str:
        """Return the content hash of one image and add what is wanted of it."""
        opened = self.store.open(index)

        @cache
        def square(side: int) -> Tensor:
            (cut,) = cut_squares(self._coloured(opened.picture(side)), side, [CENTRE])
            return torch.from_numpy(np.array(cut).reshape(side, side, self.channels)).permute(2, 0, 1).contiguous()

        content = opened.content_hash() or pixel_hash(square(self.side))
        made = square(self.wanted.input_side) if self.wanted.input_of(content) else None
        if self.wanted.picture_of(content):
            squares.append(square(self.side))
            part.picture_rows.append(row)
            width, height, several = opened.extent()
            part.measures.append(measure_picture(opened.picture(self.side), width, height, several=several))
            part.thumbnails.append(_encoded(opened.picture(self.side)) if self.wanted.thumbnails else b"")
        if made is not None:
            inputs.append(made)
            part.input_rows.append(row)
        return content

    def _coloured(self, picture: Image.Image) -> Image.Image:
        return picture.convert("L") if self.channels == 1 else picture


def shrunk(picture: Image.Image) -> Image.Image:
    """Return the thumbnail of a picture, RGB."""
    small = picture.convert("RGB")
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    return small


def _encoded(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    shrunk(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


def thumbnail_of(pixels: Pixels, place: int) -> Image.Image | None:
    """Return the thumbnail of one image, read anew; None if it cannot be read."""
    base, places = base_of(pixels)
    if isinstance(base, SquarePixels):
        whole = base.picture(places[place])
        return None if whole is None else shrunk(whole)
    (images,) = pixels.stream([Request(torch.tensor([place]))])
    array = images[0, 0].permute(1, 2, 0).contiguous().numpy()
    return shrunk(Image.fromarray(array if array.shape[2] == 3 else array[:, :, 0]))
