"""Samples whose pixels are features of a frozen network, for any run to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from lond.data.feature_views import FeaturePixels
from lond.data.pixels import short_hash
from lond.data.split import take
from lond.errors import DataError
from lond.frozen.cache import Features
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.read import FeatureReader
from lond.types import Problem, Samples


@dataclass(frozen=True)
class FrozenSettings(ExtractorSettings):
    """The frozen network whose features a run learns from, and where they are kept."""

    backbone: str = ""
    """"efficientnet-lite0" to "-lite2", or "timm:<model>"; empty = learn from the pixels."""
    squares_beyond: float = 0.0
    """As that of ``ExtractorSettings``; stored runs that do not tell it saw the centre squares of all pictures."""
    cache: str = "runs/features"
    """Folder of cached features, keyed by image content; its location does not affect results."""


class FrozenPixels(FeaturePixels):
    """Features ``(N, V, D)`` that are known by the images and the network they come from.

    The same image may get other features in the last bit, by the route or by the batch that it was computed in; its
    features are the same for all that.
    """

    def __init__(self, values: Features, hashes: Sequence[str], key: str) -> None:
        """Take the features, the content hashes of the images and the network's key."""
        super().__init__(values)
        self._fingerprint = short_hash(key, *hashes)


def as_features(samples: Samples, settings: ExtractorSettings, reader: FeatureReader) -> Samples:
    """Return the samples with features in place of pixels; images that cannot be read go into ``problems``.

    Args:
        samples: N images of any size.
        settings: the frozen network.
        reader: where features are computed and kept.

    Raises:
        DataError: none of the images can be read.
    """
    facts = reader.read(samples, settings)
    lost = facts.unreadable
    kept = [index for index in range(len(samples)) if index not in lost]
    if not kept:
        raise DataError(f"none of the {len(samples)} images of {samples.origin} can be read")
    rest = take(samples, torch.tensor(kept)) if lost else samples
    problems = samples.problems + tuple(Problem(samples.ids[index], reason) for index, reason in lost.items())
    features = facts.features[kept] if lost else facts.features
    pixels = FrozenPixels(features, [facts.hashes[index] for index in kept], settings.key())
    return replace(rest, pixels=pixels, problems=problems)
