"""Features of frozen networks in place of pixels: some views of each image, computed once, and views made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from lond.data.pixels import SubsetPixels, short_hash
from lond.errors import ConfigError, DataError
from lond.types import Pixels, Request

_ROWS_AT_ONCE = 4096


class FeaturePixels:
    """Features ``(N, V, D)``: V views of each of N images, computed beforehand by a network.

    They travel as images of V channels and 1 x D pixels, so whatever handles samples handles them, too.
    """

    crops_on_read = False

    def __init__(self, values: object) -> None:
        """Take ``(N, D)`` or ``(N, V, D)`` numbers, in memory or mapped from a file.

        Raises:
            DataError: the shape is another one, or a value is not finite.
        """
        if isinstance(values, Tensor):
            values = values.detach().cpu().numpy()
        array = np.asarray(values)
        if array.dtype.kind not in "fiu" or array.ndim not in (2, 3) or 0 in array.shape[1:]:
            raise DataError(f"features must be numbers (N, D) or (N, V, D), not {array.dtype} {array.shape}")
        self.values = array[:, None] if array.ndim == 2 else array
        for start in range(0, len(array), _ROWS_AT_ONCE):
            if not np.isfinite(array[start : start + _ROWS_AT_ONCE]).all():
                raise DataError("features hold NaN or infinite values; compute them again or leave those rows out")
        self._fingerprint: str | None = None

    @property
    def channels(self) -> int:
        """V, the number of views."""
        return int(self.values.shape[1])

    @property
    def size(self) -> tuple[int, int]:
        """1 and D."""
        return 1, int(self.values.shape[2])

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.values)

    def stream(self, requests: Sequence[Request]) -> Iterator[Tensor]:
        """Yield ``(1, B, V, 1, D)`` float32 for each request."""
        for request in requests:
            yield _widened(self.values[request.indices.cpu().numpy()]).unsqueeze(2).unsqueeze(0)

    def fingerprint(self) -> str:
        """Return a hash of the shape and all values."""
        if self._fingerprint is None:
            parts = [
                np.ascontiguousarray(self.values[start : start + _ROWS_AT_ONCE]).reshape(-1).data
                for start in range(0, len(self.values), _ROWS_AT_ONCE)
            ]
            self._fingerprint = short_hash(f"{self.values.dtype} {self.values.shape}", *parts)
        return self._fingerprint


def _widened(rows: NDArray[Any]) -> Tensor:
    """Return rows that were copied out of an array as float32."""
    if rows.dtype == np.float16:
        # Halves are widened ten times faster by torch, which does not know every other kind of number.
        return torch.from_numpy(rows).float()
    return torch.from_numpy(rows.astype(np.float32, copy=False))


def is_features(pixels: Pixels) -> bool:
    """Tell whether pixels are features, or some of them."""
    return is_features(pixels.base) if isinstance(pixels, SubsetPixels) else isinstance(pixels, FeaturePixels)


@dataclass(frozen=True)
class FeatureViewSettings:
    """How views are made of features; each draws one of the stored views of its image."""

    weak_dropout: float = 0.1
    """Share of the features that a weak view sets to zero (the others grow accordingly)."""
    strong_dropout: float = 0.4
    """The same for a strong view."""
    strong_noise: float = 0.1
    """Deviation of the noise in a strong view, relative to that of the image's own features."""

    def __post_init__(self) -> None:
        """Check that dropout rates lie in [0, 1) and the noise is not negative."""
        if not 0 <= self.weak_dropout < 1 or not 0 <= self.strong_dropout < 1 or self.strong_noise < 0:
            raise ConfigError("weak_dropout and strong_dropout must lie in [0, 1), strong_noise must not be negative")


class FeatureViews:
    """Makes views ``(B, D)`` of features ``(B, V, 1, D)``; all draws come from the given CPU generator."""

    def __init__(self, settings: FeatureViewSettings) -> None:
        """Keep the settings."""
        self.settings = settings

    def weak(self, images: Tensor, generator: Generator, crop: bool = True) -> Tensor:
        """Return one stored view per image, with a few features dropped."""
        return _dropped(_one_view(images, generator), self.settings.weak_dropout, generator)

    def strong(self, images: Tensor, generator: Generator, crop: bool = True) -> Tensor:
        """Return one stored view per image with noise, many features dropped."""
        view = _one_view(images, generator)
        # A single number has no deviation.
        if self.settings.strong_noise and view.shape[1] > 1:
            noise = torch.randn(view.shape, generator=generator).to(view.device)
            view = noise.mul_(self.settings.strong_noise * view.std(dim=1, keepdim=True)).add_(view)
        return _dropped(view, self.settings.strong_dropout, generator)

    def test(self, images: Tensor) -> Tensor:
        """Return the mean of all stored views."""
        views = images.flatten(2)
        return views[:, 0] if views.shape[1] == 1 else views.mean(dim=1)


def _one_view(images: Tensor, generator: Generator) -> Tensor:
    """Return one of the V views of each row, ``(B, V, 1, D) -> (B, D)``."""
    chosen = torch.randint(images.shape[1], (len(images),), generator=generator)
    views = images.flatten(2)
    return views[:, 0] if views.shape[1] == 1 else views[torch.arange(len(images)), chosen.to(images.device)]


def _dropped(view: Tensor, share: float, generator: Generator) -> Tensor:
    if not share:
        return view
    kept = torch.rand(view.shape, generator=generator).ge_(share).to(view.device)
    return kept.to(view.dtype).mul_(view).div_(1 - share)
