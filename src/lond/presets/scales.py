"""From a preset, a method and changed settings to a configuration on a scale: full, mini, frozen or smoke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lond.config import DataSettings, NetSettings, RunConfig, with_overrides
from lond.data.options import ReadOptions
from lond.errors import ConfigError
from lond.presets.benchmarks import digits, mini80, preset
from lond.presets.changes import with_root, with_seed
from lond.presets.features import on_frozen
from lond.presets.scaling import with_method

SMOKE_SIDE = 16
"""Side in pixels of the images of a smoke run."""

FILES = (".npz", ".csv", ".parquet")
"""What images of another source may be in, besides a folder."""

DATA, OPEN_IMAGES, OPEN_SOURCE = "data.", "data.benchmark.open_", "data.benchmark.open_source"
"""Beginnings of settings: of the data, of images of another data set, and where these lie."""


@dataclass(frozen=True)
class Places:
    """Where the benchmarks' files lie, and the small generated folder that stands for a web set in a smoke run."""

    root: str = "data"
    web_folder: Path = Path("web-digits")


@dataclass(frozen=True)
class Variation:
    """A preset with a method in it and settings changed, at full scale."""

    preset: str
    method: str
    overrides: Mapping[str, str]
    """Dotted key -> text, as ``lond.config.with_overrides`` takes them."""


def at_scale(variation: Variation, scale: str, places: Places, seed: int = 0) -> RunConfig:
    """Return the configuration on a scale; what is changed holds on every scale.

    Raises:
        ConfigError: scale, preset, method or a key is unknown.
    """
    if scale == "full":
        return _full(variation, places, seed)
    plain = plain_at_scale(variation, scale, places, seed)
    return with_overrides(plain, _fitting_overrides(variation, scale, plain))


def plain_at_scale(variation: Variation, scale: str, places: Places, seed: int = 0) -> RunConfig:
    """Return the configuration of method and data on a scale, without what is changed besides.

    Raises:
        ConfigError: scale, preset, method or a key is unknown.
    """
    of_data = {key: text for key, text in variation.overrides.items() if key.startswith(DATA)}
    full = _full(replace(variation, overrides=of_data), places, seed)
    if scale == "full":
        return full
    if scale == "frozen":
        return on_frozen(full)
    noise = full.data.benchmark.noise
    if scale == "mini":
        small = with_method(mini80(noise.kind, noise.closed_rate), variation.method)
    elif scale == "smoke":
        small = _smoke(variation, places)
    else:
        raise ConfigError(f"there is no scale {scale!r}; choose one of: full, mini, frozen, smoke")
    return with_seed(with_root(small, places.root), seed)


def _full(variation: Variation, places: Places, seed: int) -> RunConfig:
    texts = {"data.benchmark.root": places.root, "train.seed": str(seed)}
    if open_source := variation.overrides.get(OPEN_SOURCE):
        texts[OPEN_SOURCE] = str(source_below(places.root, Path(open_source).name))
    return with_overrides(preset(variation.preset, variation.method), {**variation.overrides, **texts})


def source_below(root: str, name: str) -> Path:
    """Return the folder, or the file in its place, with images of a name; the folder if there is nothing yet."""
    folder = Path(root) / name
    files = (folder.with_name(name + suffix) for suffix in FILES)
    return next((path for path in (folder, *files) if path.exists()), folder)


def _fitting_overrides(variation: Variation, scale: str, plain: RunConfig) -> dict[str, str]:
    """Return what is changed; lengths become those of the scale: all epochs, or those of the warm-up."""
    texts = dict(variation.overrides)
    if "settings.warmup_epochs" in texts:
        texts["settings.warmup_epochs"] = str(plain.train.epochs)
    if "train.epochs" in texts:
        warmup = plain.settings.warmup_epochs
        texts["train.epochs"] = str(warmup)
        # The model as warm-up leaves it: a mean must not reach back to where it began.
        texts["train.average_last"] = str(min(plain.train.average_last, max(1, warmup // 3)))
    dropped = DATA if scale == "frozen" else OPEN_IMAGES
    return {key: text for key, text in texts.items() if not key.startswith(dropped)}


def _smoke(variation: Variation, places: Places) -> RunConfig:
    """Return a run of seconds: 2 epochs, one of them warm-up, two steps per phase, few channels."""
    base, paper = digits(), preset(variation.preset)
    on_files = paper.data.benchmark.name.startswith("web-")
    if on_files:
        data = DataSettings(source=str(places.web_folder), read=ReadOptions(size=SMOKE_SIDE, channels=1, num_workers=0))
    else:
        data = replace(base.data, benchmark=replace(base.data.benchmark, noise=paper.data.benchmark.noise))
    identify = replace(base.settings.identify, top=paper.settings.identify.top)
    small = replace(
        base,
        data=data,
        net=NetSettings(width=0.125),
        settings=replace(base.settings, warmup_epochs=1, ramp_epochs=1, identify=identify),
        optimiser=replace(base.optimiser, constant_epochs=1),
        train=replace(base.train, epochs=2, batch_size=32 if on_files else 128, average_last=1, max_steps=2),
    )
    return with_method(small, variation.method)
