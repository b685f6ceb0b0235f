"""Samples whose pixels are features of a frozen network, for any run to learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from lond.data.feature_views import FeaturePixels
from lond.data.pixels import SubsetPixels, short_hash
from lond.data.split import take
from lond.errors import DataError
from lond.frozen.cache import FeatureCache, Features, Progress, compute_features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.hashes import content_hashes
from lond.types import Pixels, Problem, Samples


@dataclass(frozen=True)
class FrozenSettings(ExtractorSettings):
    """The frozen network whose features a run learns from, and where they are kept."""

    backbone: str = ""
    """"efficientnet-lite0" or "timm:<model>"; empty = learn from the pixels."""
    cache: str = "runs/features"
    """Folder of computed features, by image content; where it lies changes no result."""


class FrozenPixels(FeaturePixels):
    """Features ``(N, V, D)`` that are known by the images and the network they come from.

    The same image may get other features in the last bit, by the route or by the batch that it was computed in; its
    features are the same for all that.
    """

    def __init__(self, values: Features, hashes: Sequence[str], key: str) -> None:
        """Take the features, the content hashes of the images and the network's key."""
        super().__init__(values)
        self._fingerprint = short_hash(key, *hashes)


def is_features(pixels: Pixels) -> bool:
    """Tell whether pixels are features, or some of them."""
    return is_features(pixels.base) if isinstance(pixels, SubsetPixels) else isinstance(pixels, FeaturePixels)


def as_features(
    samples: Samples,
    settings: ExtractorSettings,
    cache: Path,
    device: torch.device | str,
    progress: Callable[[str], Progress],
) -> Samples:
    """Return the samples with features in place of pixels; images that cannot be read go into ``problems``.

    Args:
        samples: N images of any size.
        settings: the frozen network.
        cache: folder of computed features.
        device: where the network runs.
        progress: gives a progress function for a named piece of work.

    Raises:
        DataError: none of the images can be read.
    """
    hashes = content_hashes(samples, progress("reading"))
    computed = compute_features(samples, hashes, FeatureCache(cache, settings), device, progress("features"))
    lost = computed.unreadable
    kept = [index for index in range(len(samples)) if index not in lost]
    if not kept:
        raise DataError(f"none of the {len(samples)} images of {samples.origin} can be read")
    rest = take(samples, torch.tensor(kept)) if lost else samples
    problems = samples.problems + tuple(Problem(samples.ids[index], reason) for index, reason in lost.items())
    features = computed.features[kept] if lost else computed.features
    pixels = FrozenPixels(features, [hashes[index] for index in kept], settings.key())
    return replace(rest, pixels=pixels, problems=problems)
