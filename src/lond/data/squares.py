"""Pictures of any shape as squares of one size, read by worker processes where asked."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from lond.data.images import PictureExtent, UnreadableImage
from lond.data.pixels import SubsetPixels
from lond.errors import DataError
from lond.types import Pixels, Problem, Request

MID_GREY = 128
CENTRE = (0.5, 0.5)

# Beyond this aspect ratio the whole resized picture could fill the memory, so only the asked square is resized.
_LONGEST_STRIP = 8

Faults = dict[int, str]
"""Index of an unreadable image -> reason."""


def default_workers() -> int:
    """Return the default number of processes that decode images."""
    return min(4, max(0, (os.cpu_count() or 1) - 1))


def cut_squares(image: Image.Image, size: int, positions: Sequence[tuple[float, float]]) -> list[Image.Image]:
    """Resize the short side to ``size`` (bilinear, antialiased) and crop a square at each position.

    A position is (vertical, horizontal) in [0, 1]; 0.5 is the centre.
    """
    if is_strip(image):
        return [_cut_first(image, size, position) for position in positions]
    wide, high = resized_extent(image, size)
    resized = image if (wide, high) == image.size else image.resize((wide, high), Image.Resampling.BILINEAR)
    squares = []
    for vertical, horizontal in positions:
        top, left = round(vertical * (high - size)), round(horizontal * (wide - size))
        squares.append(resized.crop((left, top, left + size, top + size)))
    return squares


def is_strip(image: Image.Image) -> bool:
    """Tell whether a picture is so long that a square is cut out before it is resized."""
    return max(image.size) > _LONGEST_STRIP * min(image.size)


def resized_extent(image: Image.Image, size: int) -> tuple[int, int]:
    """Return width and height of a picture whose short side becomes ``size``."""
    width, height = image.size
    scale = size / min(width, height)
    return max(size, round(width * scale)), max(size, round(height * scale))


class WholePlace(NamedTuple):
    """Where a whole picture lies on its padded square, in pixels."""

    left: int
    top: int
    width: int
    height: int


def whole_place(image: Image.Image, size: int) -> WholePlace:
    """Return the place of a picture whose long side becomes ``size``, centred on a square of that side."""
    longest = max(image.size)
    width, height = (max(1, round(side / longest * size)) for side in image.size)
    return WholePlace(round((size - width) / 2), round((size - height) / 2), width, height)


def padded_square(image: Image.Image, size: int) -> Image.Image:
    """Resize the long side to ``size`` (bilinear, antialiased) and centre the picture on a mid-grey square.

    Mid-grey lies close to the mean that networks subtract, so that the border tells them next to nothing.
    """
    left, top, width, height = whole_place(image, size)
    square = Image.new(image.mode, (size, size), "#808080")
    square.paste(image.resize((width, height), Image.Resampling.BILINEAR), (left, top))
    return square


def _cut_first(image: Image.Image, size: int, position: tuple[float, float]) -> Image.Image:
    width, height = image.size
    side = min(width, height)
    top, left = round(position[0] * (height - side)), round(position[1] * (width - side))
    square = image.crop((left, top, left + side, top + side))
    return square.resize((size, size), Image.Resampling.BILINEAR)


class OpenedPicture(Protocol):
    """One image of a store, read once."""

    def content_hash(self) -> str | None:
        """Return the SHA-256 of the image's file, None if it does not come from a file."""

    def extent(self) -> PictureExtent:
        """Return the sides of the whole picture, and whether it is one of several."""

    def picture(self, min_side: int, /) -> Image.Image:
        """Return a picture that will be shrunk to ``min_side``, or raise ``UnreadableImage``."""


class PictureStore(Protocol):
    """What a square source reads its pictures from; it travels to worker processes."""

    def __len__(self) -> int:
        """Return the number of pictures."""

    def open(self, index: int) -> OpenedPicture:
        """Read one image, or raise ``UnreadableImage``."""


@dataclass(frozen=True)
class SquareReader(Dataset[tuple[Tensor, Faults]]):
    """Answers one request with ``(V, B, C, S, S)`` uint8 and the unreadable images met on the way."""

    store: PictureStore
    side: int
    channels: int

    def __getitem__(self, request: Request) -> tuple[Tensor, Faults]:
        """Return the squares of one request."""
        indices = request.indices.tolist()
        crops = torch.full((1, len(indices), 2), 0.5) if request.crops is None else request.crops
        squares = np.full((len(crops), len(indices), self.side, self.side, self.channels), MID_GREY, dtype=np.uint8)
        faults: Faults = {}
        for column, index in enumerate(indices):
            positions = [(float(v), float(h)) for v, h in crops[:, column].tolist()]
            try:
                pictures = cut_squares(self._picture(index), self.side, positions)
            except UnreadableImage as error:
                faults[index] = error.reason
                continue
            for view, picture in enumerate(pictures):
                squares[view, column] = np.asarray(picture).reshape(self.side, self.side, self.channels)
        return torch.from_numpy(squares).permute(0, 1, 4, 2, 3).contiguous(), faults

    def _picture(self, index: int) -> Image.Image:
        picture = self.store.open(index).picture(self.side)
        return picture.convert("L") if self.channels == 1 else picture


class SquarePixels(ABC):
    """Base of pixels that are decoded, resized and cut out whenever they are asked for."""

    crops_on_read = True
    opens_in_threads = False
    """Whether several threads may open pictures of the store at once."""

    def __init__(self, store: PictureStore, size: int, channels: int, num_workers: int) -> None:
        """Read squares of side ``size`` from ``store`` with ``num_workers`` processes (0: in this one)."""
        if size < 1 or channels not in (1, 3) or num_workers < 0:
            raise DataError(
                "image size must be at least 1, channels 1 or 3, workers at least 0; "
                f"got {size}, {channels}, {num_workers}"
            )
        self.num_workers = num_workers
        self.store = store
        self._reader = SquareReader(store, size, channels)
        self._faults: Faults = {}
        self._fingerprint: str | None = None

    def at_side(self, side: int) -> Self:
        """Return the same pictures as squares of another side."""
        other = copy.copy(self)
        other._reader = SquareReader(self.store, side, self._reader.channels)
        other._faults = dict(self._faults)
        other._fingerprint = None
        return other

    @property
    def channels(self) -> int:
        """Number of colour channels."""
        return self._reader.channels

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of every square."""
        return self._reader.side, self._reader.side

    @property
    def problems(self) -> list[Problem]:
        """Images that could not be read so far; each was replaced by mid-grey."""
        return [Problem(self.name(index), reason) for index, reason in sorted(self._faults.items())]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.store)

    def stream(self, requests: Sequence[Request]) -> Iterator[Tensor]:
        """Yield ``(V, B, C, S, S)`` uint8 for each request, in order; V is 1 unless crops are asked."""
        on_cpu = [Request(r.indices.cpu(), None if r.crops is None else r.crops.cpu()) for r in requests]
        workers = min(self.num_workers, len(on_cpu))
        # With a generator of its own it draws no seed for its workers, who need none, from the global one.
        loader: DataLoader[tuple[Tensor, Faults]] = DataLoader(
            self._reader, batch_size=None, sampler=on_cpu, num_workers=workers, generator=torch.Generator()
        )
        for squares, faults in loader:
            self._faults.update(faults)
            yield squares

    def picture(self, index: int) -> Image.Image | None:
        """Return one image whole, at least as large as its square; None if it cannot be read."""
        try:
            return self.store.open(index).picture(self._reader.side)
        except UnreadableImage:
            return None

    def fingerprint(self) -> str:
        """Return a short hash that changes when the images or the size of the squares change."""
        if self._fingerprint is None:
            self._fingerprint = self._compute_fingerprint()
        return self._fingerprint

    @abstractmethod
    def name(self, index: int) -> str:
        """Return the name of one image for reports."""

    @abstractmethod
    def _compute_fingerprint(self) -> str: ...


def unreadable(pixels: Pixels) -> dict[int, str]:
    """Return index -> reason of the images that could not be decoded so far (each was replaced by mid-grey)."""
    if isinstance(pixels, SubsetPixels):
        faults = unreadable(pixels.base)
        return {place: faults[index] for place, index in enumerate(pixels.indices.tolist()) if index in faults}
    if not isinstance(pixels, SquarePixels) or not pixels.problems:
        return {}
    reasons = {problem.id: problem.reason for problem in pixels.problems}
    return {index: reasons[name] for index in range(len(pixels)) if (name := pixels.name(index)) in reasons}


def note_unreadable(pixels: Pixels, faults: Faults) -> None:
    """Take note of images that another process could not decode, or that are known to be no images."""
    if isinstance(pixels, SubsetPixels):
        places = pixels.indices.tolist()
        note_unreadable(pixels.base, {places[place]: reason for place, reason in faults.items()})
    elif isinstance(pixels, SquarePixels):
        pixels._faults.update(faults)
