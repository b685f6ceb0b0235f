"""Images of an audit read by several workers into one cache."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lond.data.feature_views import FeaturePixels
from lond.data.sources import load
from lond.device import choose_device
from lond.errors import ConfigError
from lond.frozen.extractor import ExtractorSettings
from lond.frozen.read import quiet
from lond.frozen.shards import ReadingSpread, ShardedReading
from lond.train.runtime import RuntimeSettings
from lond.types import Samples


def sharded_reading(
    samples: Samples, network: ExtractorSettings | None, cache: Path | None, runtime: RuntimeSettings
) -> ShardedReading:
    """Return what several workers read for an audit, each on its own device.

    Raises:
        ConfigError: there is no cache that they could share.
    """
    if cache is None:
        raise ConfigError("several workers need a folder for computed features that all of them see: give a cache")
    cache.mkdir(parents=True, exist_ok=True)
    return ShardedReading(samples, network, cache, partial(choose_device, runtime.accelerator, runtime.threads))


def read_own_shard(
    source: object,
    spread: ReadingSpread,
    cache: Path,
    extractor: ExtractorSettings,
    runtime: RuntimeSettings,
    *,
    features: bool,
) -> None:
    """Read the shard of a process that helps another one's audit; it must be given the same source and settings.

    Args:
        source: the images.
        spread: this process's place among the others.
        cache: folder of computed features that all processes see.
        extractor: the frozen network of the audit.
        runtime: device and threads.
        features: whether the audit needs features of the frozen network.
    """
    samples = load(source)
    wanted = features and not isinstance(samples.pixels, FeaturePixels)
    spread(sharded_reading(samples, extractor if wanted else None, cache, runtime), quiet(""))
