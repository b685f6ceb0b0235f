"""Pixels that another library's dataset hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from PIL import Image
from torch import Tensor

from lond.data.images import MAX_PIXELS, PictureExtent, UnreadableImage, decode, decode_bytes, to_rgb
from lond.data.pixels import as_uint8_images, short_hash
from lond.data.squares import SquarePixels, cut_squares
from lond.errors import DataError

_HASHED_IMAGES = 64

READ_ERRORS = (OSError, SyntaxError, EOFError)
"""What Pillow raises on a damaged file inside a dataset's own reader."""


class IndexableDataset(Protocol):
    """Anything with a length whose items are (image, label, ...) or a mapping with an image in it."""

    def __len__(self) -> int:
        """Return the number of items."""

    def __getitem__(self, index: int, /) -> Any:
        """Return one item."""


def as_picture(value: object, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """Return a PIL image, array, tensor, or a mapping or bytes of an encoded image as RGB.

    Raises:
        DataError: the value is no image (``UnreadableImage`` if it is a damaged one).
    """
    if isinstance(value, Image.Image):
        return to_rgb(value)
    if isinstance(value, bytes):
        return decode_bytes(value, max_pixels=max_pixels)
    if isinstance(value, Mapping) and value.get("bytes"):
        return decode_bytes(value["bytes"], max_pixels=max_pixels)
    if isinstance(value, Mapping) and value.get("path"):
        return decode(value["path"], max_pixels=max_pixels)
    if isinstance(value, (Tensor, np.ndarray)):
        pixels = as_uint8_images(value[None])[0].permute(1, 2, 0).numpy()
        return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).convert("RGB")
    if value is None:
        raise UnreadableImage("no image")
    raise DataError(f"a dataset must give PIL images, arrays or tensors, not {type(value).__name__}")


@dataclass(frozen=True)
class _Item:
    shown: Image.Image

    def content_hash(self) -> None:
        return None

    def extent(self) -> PictureExtent:
        return PictureExtent(*self.shown.size)

    def picture(self, min_side: int, /) -> Image.Image:
        return self.shown


@dataclass(frozen=True)
class _DatasetStore:
    dataset: IndexableDataset
    image_key: int | str
    max_pixels: int

    def __len__(self) -> int:
        return len(self.dataset)

    def open(self, index: int) -> _Item:
        try:
            item = self.dataset[index]
        except READ_ERRORS as error:
            raise UnreadableImage(f"the dataset cannot read it ({error})") from error
        return _Item(as_picture(self._image_in(item), self.max_pixels))

    def _image_in(self, item: Any) -> object:
        if isinstance(item, (Image.Image, Tensor, np.ndarray)):
            return item
        try:
            return item[self.image_key]
        except (TypeError, LookupError):
            kind = type(item).__name__
            raise DataError(
                f"the dataset must give (image, label) items, not {kind} without {self.image_key!r}"
            ) from None


class DatasetPixels(SquarePixels):
    """Squares cut out of the images of a torch dataset or anything indexable that gives (image, label)."""

    def __init__(
        self,
        dataset: IndexableDataset,
        size: int | None = None,
        *,
        channels: int = 3,
        image_key: int | str = 0,
        num_workers: int = 0,
        max_pixels: int = MAX_PIXELS,
    ) -> None:
        """Read ``item[image_key]`` of every item; without ``size`` the first image's short side is taken."""
        store = _DatasetStore(dataset, image_key, max_pixels)
        if len(store) == 0:
            raise DataError("the dataset is empty")
        if size is None:
            size = self._first_side(store)
        super().__init__(store, size, channels, num_workers)

    @staticmethod
    def _first_side(store: _DatasetStore) -> int:
        try:
            return min(store.open(0).shown.size)
        except UnreadableImage as error:
            raise DataError(f"cannot tell the image size: the first image is unreadable ({error}); give it") from error

    def name(self, index: int) -> str:
        """Return the number of one item."""
        return str(index)

    def _compute_fingerprint(self) -> str:
        """Hash 64 images spread over the dataset: reading all of them would take as long as an epoch."""
        step = max(1, len(self) // _HASHED_IMAGES)
        parts = []
        for index in range(0, len(self), step):
            try:
                picture = self.store.open(index).picture(self.size[0])
                parts.append(cut_squares(picture, self.size[0], [(0.5, 0.5)])[0].tobytes())
            except UnreadableImage as error:
                parts.append(error.reason.encode())
        return short_hash(str((len(self), self.size, self.channels)), *parts)
