"""Images read once: hashes, measures, thumbnail and the network's input from the same decoded picture."""

from __future__ import annotations

import io
import math
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from lond.data.images import UnreadableImage
from lond.data.pixels import SubsetPixels
from lond.data.quick_squares import quick_resized, quick_square, quick_whole
from lond.data.squares import CENTRE, OpenedPicture, PictureStore, SquarePixels, cut_squares, padded_square
from lond.frozen.hashes import PerceptualHashes, perceptual_hashes, pixel_hash
from lond.frozen.measures import Measured, measure_picture, measure_pixels
from lond.types import Pixels, Request

BATCH = 64
"""Images that are read, and that the network sees, at once."""

BATCHES_AHEAD = 2
"""Batches that threads read while the network sees another."""

AT_ONCE = 8
"""Images that a thread reads before it hands them over: handing over takes time, too."""

THUMBNAIL = 192
"""Longest side of a thumbnail, in pixels."""

LOSSLESS = 96
"""Longest side up to which thumbnails are kept without loss; larger ones as JPEG files, which take less room."""

THUMBNAIL_QUALITY = 92


ALONG = ((0.0, 0.0), CENTRE, (1.0, 1.0))
"""Places of the squares of a long picture."""


@dataclass(frozen=True)
class Wanted:
    """What is made of each image, unless its content is known already."""

    input_side: int = 0
    """Side of the squares for the network; 0 makes none."""
    whole: bool = False
    """Show the network the whole picture, padded, in place of its centre square."""
    squares_beyond: float = math.inf
    """Show it three squares of a picture that is longer than so many times its short side."""
    perceptual: bool = False
    """Make perceptual hashes and measures, and with ``thumbnails`` thumbnails of images that do not lie in memory."""
    thumbnails: bool = False
    known_inputs: frozenset[str] = frozenset()
    known_pictures: frozenset[str] = frozenset()

    def input_of(self, content_hash: str) -> bool:
        """Tell whether the network must see an image."""
        return bool(self.input_side) and content_hash not in self.known_inputs

    def squares_of(self, picture: Image.Image) -> bool:
        """Tell whether the network sees three squares of a picture."""
        return max(picture.size) > self.squares_beyond * min(picture.size)

    def picture_of(self, content_hash: str) -> bool:
        """Tell whether the perceptual hash, the measures and the thumbnail of an image are wanted."""
        return self.perceptual and content_hash not in self.known_pictures


@dataclass
class Part:
    """Some images in order: content hashes ("" if unreadable) and row -> reason, or what was made of the row.

    A row that the network sees in three squares has three inputs, one after the other.
    """

    hashes: list[str] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    input_rows: list[int] = field(default_factory=list)
    inputs: Tensor | list[Tensor] = field(default_factory=list)
    picture_rows: list[int] = field(default_factory=list)
    perceptual: PerceptualHashes = field(default_factory=lambda: perceptual_hashes(torch.empty(0)))
    measures: list[Measured] = field(default_factory=list)
    thumbnails: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class _Seen:
    """What was made of one image; None where nothing was wanted."""

    content: str = ""
    reason: str = ""
    inputs: Sequence[Tensor] = ()
    squeezed: Tensor | None = None
    measures: Measured | None = None
    thumbnail: bytes = b""


def read_parts(pixels: Pixels, wanted: Wanted) -> Iterator[Part]:
    """Yield all images in order; each file is read and decoded once, by threads or the pixels' worker processes.

    Threads read ahead while the caller works on what it has; decoders let them run side by side.
    """
    base, places = base_of(pixels)
    if not isinstance(base, SquarePixels):
        requests = [Request(part) for part in torch.arange(len(pixels)).split(BATCH)]
        for images in pixels.stream(requests):
            yield _part_in_memory(images[0], wanted)
        return
    reader = _Reader(base.store, base.size[0], base.channels, wanted)
    batches = [places[start : start + BATCH] for start in range(0, len(places), BATCH)]
    if base.opens_in_threads and base.num_workers:
        # The process that waits for them has a core to give, too.
        yield from _in_threads(reader, batches, base.num_workers + 1)
        return
    workers = min(base.num_workers, len(batches))
    yield from DataLoader(reader, batch_size=None, sampler=batches, num_workers=workers, generator=torch.Generator())


def _in_threads(reader: _Reader, batches: Sequence[Sequence[int]], threads: int) -> Iterator[Part]:
    """Yield the parts in order; at most ``BATCHES_AHEAD`` are under way."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="lond-read")
    under_way: deque[list[Future[list[_Seen]]]] = deque()
    try:
        for batch in batches:
            few = [batch[start : start + AT_ONCE] for start in range(0, len(batch), AT_ONCE)]
            under_way.append([pool.submit(reader.read_all, indices) for indices in few])
            if len(under_way) > BATCHES_AHEAD:
                yield _awaited(under_way.popleft())
        while under_way:
            yield _awaited(under_way.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _awaited(images: Sequence[Future[list[_Seen]]]) -> Part:
    return _part([image for few in images for image in few.result()])


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
        part = _part(self.read_all(indices))
        # One tensor: every one that leaves a process takes a handle.
        part.inputs = torch.stack(list(part.inputs)) if len(part.inputs) else torch.empty(0)
        return part

    def read_all(self, indices: Sequence[int]) -> list[_Seen]:
        """Return what is wanted of several images."""
        return [self.read(index) for index in indices]

    def read(self, index: int) -> _Seen:
        """Return what is wanted of one image, from one decoded picture."""
        try:
            return self._read(self.store.open(index))
        except UnreadableImage as error:
            return _Seen(reason=error.reason)

    def _read(self, opened: OpenedPicture) -> _Seen:
        wanted, side = self.wanted, max(self.side, self.wanted.input_side)

        @cache
        def square(side_of_square: int) -> Tensor:
            return quick_square(self._coloured(opened.picture(side)), side_of_square)

        content = opened.content_hash() or self._pixel_hash(opened.picture(side))
        made: Sequence[Tensor] = ()
        if wanted.input_of(content):
            picture = self._coloured(opened.picture(side))
            if wanted.whole:
                made = [quick_whole(picture, wanted.input_side)]
            elif wanted.squares_of(picture):
                made = [quick_square(picture, wanted.input_side, place) for place in ALONG]
            else:
                made = [square(wanted.input_side)]
        if not wanted.picture_of(content):
            return _Seen(content, inputs=made)
        width, height, several = opened.extent()
        measures = measure_picture(opened.picture(side), width, height, several=several)
        thumbnail = _encoded(opened.picture(side)) if wanted.thumbnails else b""
        # By the centre square, long pictures that differ at their ends would be copies.
        shown = self._coloured(opened.picture(side))
        squeezed = square(self.side) if shown.width == shown.height else quick_resized(shown, self.side, self.side)
        return _Seen(content, "", made, squeezed, measures, thumbnail)

    def _pixel_hash(self, picture: Image.Image) -> str:
        """Return the hash of what is seen as Pillow resizes it, which no version of PyTorch changes."""
        shown = self._coloured(picture)
        to_ends = self.wanted.whole or self.wanted.squares_of(shown)
        cut = padded_square(shown, self.side) if to_ends else cut_squares(shown, self.side, [CENTRE])[0]
        values = np.array(cut).reshape(self.side, self.side, self.channels)
        return pixel_hash(torch.from_numpy(values).permute(2, 0, 1))

    def _coloured(self, picture: Image.Image) -> Image.Image:
        return picture.convert("L") if self.channels == 1 else picture


def _part(images: Sequence[_Seen]) -> Part:
    """Return images as one part."""
    part = Part([image.content for image in images])
    part.reasons = {row: image.reason for row, image in enumerate(images) if not image.content}
    inputs = [(row, made) for row, image in enumerate(images) for made in image.inputs]
    shown = {row: image for row, image in enumerate(images) if image.measures is not None}
    part.input_rows, part.picture_rows = [row for row, _ in inputs], list(shown)
    part.inputs = [made for _, made in inputs]
    squeezed = [image.squeezed for image in shown.values() if image.squeezed is not None]
    part.perceptual = perceptual_hashes(torch.stack(squeezed)) if squeezed else part.perceptual
    part.measures = [image.measures for image in shown.values() if image.measures is not None]
    part.thumbnails = [image.thumbnail for image in shown.values()]
    return part


def shrunk(picture: Image.Image) -> Image.Image:
    """Return the thumbnail of a picture, RGB."""
    coloured = picture.convert("RGB")
    if max(coloured.size) <= THUMBNAIL:
        return coloured
    scale = THUMBNAIL / max(coloured.size)
    width, height = (max(1, round(scale * side)) for side in coloured.size)
    small = quick_resized(coloured, width, height, "bicubic")
    return Image.fromarray(small.permute(1, 2, 0).contiguous().numpy())


def _encoded(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    small = shrunk(picture)
    if max(small.size) <= LOSSLESS:
        small.save(file, "PNG", compress_level=1)
    else:
        small.save(file, "JPEG", quality=THUMBNAIL_QUALITY, subsampling=0)
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
