"""From a cell of the paper to the configuration that runs it. Kept apart from the records: it imports the methods."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lond.config import RunConfig, with_overrides
from lond.errors import ConfigError
from lond.paper.records import Cell
from lond.presets.benchmarks import preset

FILES = (".npz", ".csv", ".parquet")
"""What images of another source may be in, besides a folder."""


def run_config(cell: Cell, root: str = "data", seed: int = 0) -> RunConfig:
    """Return the full-scale configuration of a cell, for benchmark files (and open-set images) below ``root``.

    Raises:
        ConfigError: the program cannot run the cell; the message says what it lacks.
    """
    if cell.missing:
        raise ConfigError(f"{cell.experiment}, {cell.row!r} cannot be run: {cell.missing}")
    places = {"data.benchmark.root": root, "train.seed": str(seed)}
    if open_source := cell.overrides.get("data.benchmark.open_source"):
        places["data.benchmark.open_source"] = str(source_below(root, Path(str(open_source)).name))
    return with_overrides(preset(cell.preset, cell.method), cell.texts() | places)


def source_below(root: str, name: str) -> Path:
    """Return the folder, or the file in its place, with images of a name; the folder if there is nothing yet."""
    folder = Path(root) / name
    files = (folder.with_name(name + suffix) for suffix in FILES)
    return next((path for path in (folder, *files) if path.exists()), folder)


def distinct_runs(cells: Iterable[Cell], root: str = "data", seed: int = 0) -> dict[RunConfig, list[Cell]]:
    """Return each training run once, with the cells that read their figures from it; what cannot run is left out."""
    runs: dict[RunConfig, list[Cell]] = {}
    for cell in cells:
        if not cell.missing:
            runs.setdefault(run_config(cell, root, seed), []).append(cell)
    return runs
