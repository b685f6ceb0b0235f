"""From a cell of the paper to its configuration on a scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from lond.config import DataSettings, NetSettings, RunConfig, with_overrides
from lond.data.options import ReadOptions
from lond.errors import ConfigError
from lond.paper import Cell
from lond.paper.reproduce.scales import AVERAGED, LENGTH, OPEN_IMAGES, SCALES, WARMUP, Scale, why_left_out
from lond.presets.benchmarks import digits, preset
from lond.presets.features import on_frozen
from lond.presets.naming import mini80_of
from lond.presets.paper_cells import run_config
from lond.presets.scaling import with_method

__all__ = ["SCALES", "Places", "Scale", "checked_scale", "plain_config", "scaled_config", "why_left_out"]

SMOKE_SIDE = 16
"""Side in pixels of the images of a smoke run."""

DATA = "data."


@dataclass(frozen=True)
class Places:
    """Where the benchmarks' files lie, and the small generated folder that stands for a web set in a smoke run."""

    root: str = "data"
    web_folder: Path = Path("web-digits")


def checked_scale(name: str) -> Scale:
    """Return the scale of a name.

    Raises:
        ConfigError: there is none.
    """
    for scale in get_args(Scale):
        if scale == name:
            found: Scale = scale
            return found
    raise ConfigError(f"there is no scale {name!r}; choose one of: {', '.join(SCALES)}")


def scaled_config(cell: Cell, scale: Scale, places: Places, seed: int = 0) -> RunConfig:
    """Return the configuration of a cell on a scale; what the cell itself changes holds on every scale.

    Raises:
        ConfigError: the cell has no meaning on the scale.
    """
    if reason := why_left_out(cell, scale):
        raise ConfigError(f"{cell.experiment}, {cell.row!r} has no meaning on the scale {scale}: {reason}")
    if scale == "full":
        return run_config(cell, places.root, seed)
    plain = plain_config(cell, scale, places, seed)
    return with_overrides(plain, _fitting_overrides(cell, scale, plain))


def plain_config(cell: Cell, scale: Scale, places: Places, seed: int = 0) -> RunConfig:
    """Return the configuration of a cell's method and data on a scale, without what the cell changes besides."""
    of_data = {key: value for key, value in cell.overrides.items() if key.startswith(DATA)}
    full = run_config(replace(cell, overrides=of_data), places.root, seed)
    if scale == "full":
        return full
    if scale == "frozen":
        return on_frozen(full)
    small = (
        mini80_of(preset(cell.preset).data.benchmark.noise, cell.method) if scale == "mini" else _smoke(cell, places)
    )
    benchmark = replace(small.data.benchmark, root=places.root)
    return replace(small, data=replace(small.data, benchmark=benchmark), train=replace(small.train, seed=seed))


def _fitting_overrides(cell: Cell, scale: Scale, plain: RunConfig) -> dict[str, str]:
    """Return what the cell changes; lengths become those of the scale: all epochs, or those of the warm-up."""
    texts = cell.texts()
    if WARMUP in texts:
        texts[WARMUP] = str(plain.train.epochs)
    if LENGTH in texts:
        warmup = plain.settings.warmup_epochs
        texts[LENGTH] = str(warmup)
        # The model as warm-up leaves it: a mean must not reach back to where it began.
        texts[AVERAGED] = str(min(plain.train.average_last, max(1, warmup // 3)))
    if scale == "frozen":
        return {key: text for key, text in texts.items() if not key.startswith(DATA)}
    return {key: text for key, text in texts.items() if not key.startswith(OPEN_IMAGES)}


def _smoke(cell: Cell, places: Places) -> RunConfig:
    """Return a run of seconds: 2 epochs, one of them warm-up, two steps a phase, few channels."""
    base, paper = digits(), preset(cell.preset)
    on_files = cell.data.startswith("web-")
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
    return with_method(small, cell.method)
