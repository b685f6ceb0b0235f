"""From a cell of the paper to its configuration on a scale."""

from __future__ import annotations

from lond.config import RunConfig
from lond.errors import ConfigError
from lond.paper import Cell
from lond.paper.reproduce.scales import why_left_out
from lond.presets.scales import Places, Variation, at_scale, plain_at_scale
from lond.results.records import PaperScale


def scaled_config(cell: Cell, scale: PaperScale = "full", places: Places | None = None, seed: int = 0) -> RunConfig:
    """Return the configuration of a cell on a scale; what the cell itself changes holds on every scale.

    Raises:
        ConfigError: the cell cannot be run on the scale; the message says why.
    """
    if reason := why_left_out(cell, scale):
        raise ConfigError(f"{cell.experiment}, {cell.row!r} cannot be run on the scale {scale}: {reason}")
    return at_scale(_variation(cell), scale, places or Places(), seed)


def plain_config(cell: Cell, scale: PaperScale = "full", places: Places | None = None, seed: int = 0) -> RunConfig:
    """Return the configuration of a cell's method and data on a scale, without what the cell changes besides."""
    return plain_at_scale(_variation(cell), scale, places or Places(), seed)


def _variation(cell: Cell) -> Variation:
    return Variation(cell.preset, cell.method, cell.texts())
