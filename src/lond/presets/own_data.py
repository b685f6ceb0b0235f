"""Settings for the user's own images, of unknown noise."""

from __future__ import annotations

from dataclasses import replace

from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.feature_views import FeaturePixels
from lond.data.options import ReadOptions
from lond.data.sources import load
from lond.data.views import ViewSettings
from lond.methods import LondDrsSettings
from lond.presets.benchmarks import web
from lond.presets.features import on_features
from lond.presets.recipes.lond_drs import OWN_IDENTIFY
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings

USUAL_METHOD = "cross-fit"
"""Method for your own data if none is named: it finds foreign images best, and is about as accurate as LOND-DRS."""

SMALL_IMAGE = 64
"""Images of at most this side are learned from scratch; larger ones start from ImageNet weights."""


def own_data(source: str, test_source: str = "") -> RunConfig:
    """Return settings for your own images with unknown noise: the paper's web column, adapted to the image size.

    Raises:
        DataError: the source cannot be read.

    Examples:
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> for name in ("cat/1.png", "dog/1.png"):
        ...     Path("photos", name).parent.mkdir(parents=True, exist_ok=True)
        ...     Image.new("RGB", (32, 32)).save(Path("photos", name))
        >>> own_data("photos").data.hold_out
        0.1
    """
    samples = load(source)
    if isinstance(samples.pixels, FeaturePixels):
        heads = on_features(len(samples))
        return replace(heads, data=DataSettings(source=source, test_source=test_source, hold_out=0.1))
    side = min(samples.pixels.size)
    data = DataSettings(source=source, test_source=test_source, hold_out=0.1, read=ReadOptions(size=side))
    if side > SMALL_IMAGE:
        large = replace(web(""), data=data, net=NetSettings("efficientnet-lite0", pretrained=True))
        return replace(large, train=replace(large.train, epochs=40, batch_size=own_batch(len(samples), 64)))
    return RunConfig(
        data=data,
        views=ViewSettings(padding=max(1, side // 8)),
        settings=LondDrsSettings(warmup_epochs=20, identify=OWN_IDENTIFY),
        optimiser=OptimiserSettings(constant_epochs=20),
        train=TrainSettings(epochs=100, batch_size=own_batch(len(samples), 128)),
    )


def own_batch(images: int, usual: int) -> int:
    """Return the batch size for a number of images: the default, or less for small sets."""
    return min(usual, max(32, images // 16))
