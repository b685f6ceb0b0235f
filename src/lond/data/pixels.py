"""Pixels held in memory, and index views of any pixels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from lond.errors import DataError
from lond.types import Pixels, Request

Layout = Literal["auto", "NCHW", "NHWC"]

FINGERPRINT_DIGITS = 16
_ROWS_AT_ONCE = 2048


def short_hash(*parts: bytes | memoryview | str) -> str:
    """Return 16 hex digits of a SHA-256 over the parts, each preceded by its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = memoryview(part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part).cast("B")
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


def _as_tensor(images: object) -> Tensor:
    if isinstance(images, Tensor):
        return images.detach().cpu()
    array = np.asarray(images)
    if array.dtype == object or array.dtype.kind not in "buif":
        raise DataError(
            f"images must be numbers in one array, got dtype {array.dtype}; stack them to (N, H, W, C) uint8"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # PyTorch can neither wrap negative strides nor arrays that must not be written.
    array = np.ascontiguousarray(array)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _channel_axis(shape: tuple[int, ...], layout: Layout) -> int:
    if layout != "auto":
        return 1 if layout == "NCHW" else 3
    for sizes in ((1, 3), (4,)):
        axes = [axis for axis in (1, 3) if shape[axis] in sizes]
        if len(axes) == 1:
            return axes[0]
        if axes:
            raise DataError(f"images of shape {shape} may be NCHW or NHWC; say which with layout='NCHW' or 'NHWC'")
    raise DataError(
        f"images of shape {shape} have no channel axis of size 1, 3 or 4; give (N, H, W, C) or (N, C, H, W)"
    )


def _channels_first(images: Tensor, layout: Layout) -> Tensor:
    if images.ndim == 3:
        return images.unsqueeze(1)
    if images.ndim != 4:
        raise DataError(f"images must have shape (N, H, W), (N, H, W, C) or (N, C, H, W), got {tuple(images.shape)}")
    if _channel_axis(tuple(images.shape), layout) == 3:
        images = images.permute(0, 3, 1, 2)
    if images.shape[1] not in (1, 3, 4):
        raise DataError(f"images must have 1, 3 or 4 channels, got {images.shape[1]}")
    return images[:, :3]


def _to_uint8(images: Tensor) -> Tensor:
    if images.dtype == torch.uint8:
        return images
    if not images.dtype.is_floating_point:
        raise DataError(
            f"images are {str(images.dtype).removeprefix('torch.')}; convert whole numbers in 0..255 to uint8 yourself"
        )
    converted = torch.empty(images.shape, dtype=torch.uint8)
    for start in range(0, len(images), _ROWS_AT_ONCE):
        part = images[start : start + _ROWS_AT_ONCE].float()
        # NaN fails this comparison too.
        if not bool(((part >= 0) & (part <= 1)).all()):
            raise DataError(
                "float images must lie in [0, 1]: divide 0..255 values by 255 or convert them to uint8, "
                "and undo any normalisation by mean and deviation"
            )
        converted[start : start + _ROWS_AT_ONCE] = (part * 255).round().to(torch.uint8)
    return converted


def as_uint8_images(images: object, layout: Layout = "auto") -> Tensor:
    """Return images as a contiguous uint8 tensor ``(N, C, H, W)`` with 1 or 3 channels.

    Takes NumPy or torch, (N, H, W), (N, H, W, C) or (N, C, H, W). The channel axis is the one of size 1 or 3
    (else 4, whose alpha is dropped). Floats in [0, 1] become ``round(255 x)``.

    Raises:
        DataError: any other dtype, range or shape, or a layout that cannot be told.
    """
    tensor = _to_uint8(_channels_first(_as_tensor(images), layout))
    if 0 in tensor.shape[1:]:
        raise DataError(f"images of shape {tuple(tensor.shape)} hold no pixels")
    return tensor.contiguous()


class ArrayPixels:
    """Images in memory: ``images`` is ``(N, C, H, W)`` uint8."""

    crops_on_read = False

    def __init__(self, images: object, *, layout: Layout = "auto") -> None:
        """Take the images of an array; see ``as_uint8_images`` for what is accepted."""
        self.images = as_uint8_images(images, layout)
        self._fingerprint: str | None = None

    @property
    def channels(self) -> int:
        """Number of colour channels."""
        return self.images.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.images.shape[2], self.images.shape[3]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)

    def stream(self, requests: Sequence[Request]) -> Iterator[Tensor]:
        """Yield ``(1, B, C, H, W)`` uint8 for each request; positions of cut-outs are not used."""
        for request in requests:
            yield self.images[request.indices.cpu()].unsqueeze(0)

    def fingerprint(self) -> str:
        """Return a hash of the shape and all pixels."""
        if self._fingerprint is None:
            self._fingerprint = short_hash(str(tuple(self.images.shape)), self.images.numpy().reshape(-1).data)
        return self._fingerprint


class SubsetPixels:
    """Some images of other pixels, in the order of ``indices``."""

    def __init__(self, base: Pixels, indices: Tensor) -> None:
        """View ``base`` through ``indices``, an ``(M,)`` int64 tensor."""
        self.base = base
        self.indices = indices

    @property
    def channels(self) -> int:
        """Number of colour channels."""
        return self.base.channels

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.base.size

    @property
    def crops_on_read(self) -> bool:
        """True if the base cuts out on reading."""
        return self.base.crops_on_read

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.indices)

    def stream(self, requests: Sequence[Request]) -> Iterator[Tensor]:
        """Yield what the base yields for the translated requests."""
        return self.base.stream([Request(self.indices[request.indices.cpu()], request.crops) for request in requests])

    def fingerprint(self) -> str:
        """Return a hash of the base's hash and the indices."""
        return short_hash(self.base.fingerprint(), self.indices.numpy().tobytes())


def subset(pixels: Pixels, indices: Tensor | Sequence[int]) -> Pixels:
    """Return the images at ``indices``: a real slice of an array, a view of anything else.

    Raises:
        DataError: an index lies outside the images.
    """
    chosen = torch.as_tensor(indices, dtype=torch.int64).cpu()
    if len(chosen) and not (int(chosen.min()) >= 0 and int(chosen.max()) < len(pixels)):
        raise DataError(f"indices must lie in 0..{len(pixels) - 1}")
    if isinstance(pixels, ArrayPixels):
        return ArrayPixels(pixels.images[chosen], layout="NCHW")
    if isinstance(pixels, SubsetPixels):
        return SubsetPixels(pixels.base, pixels.indices[chosen])
    return SubsetPixels(pixels, chosen)
