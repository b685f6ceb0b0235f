"""Which runs a table or figure needs on a scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lond.config import RunConfig
from lond.data.benchmarks import load_benchmark
from lond.errors import DataError
from lond.paper import Cell, Experiment
from lond.paper.reproduce.configs import plain_config, scaled_config
from lond.paper.reproduce.names import Scale, why_left_out
from lond.presets.benchmarks import preset_of
from lond.presets.changes import with_seed
from lond.presets.scales import Places
from lond.results.identity import variant_of
from lond.results.naming import data_of, noise_of
from lond.results.records import Scale as StoredScale

RUNS = "runs"
"""Folder of all runs, below that of the output; tables and figures share them."""

MOST_USERS = 3
"""Rows of a run that are named."""


@dataclass(frozen=True)
class LeftOut:
    """A cell that is not run, and why."""

    cell: Cell
    reason: str


@dataclass(frozen=True)
class Run:
    """One training run, and the cells that read their figures from it."""

    config: RunConfig
    baseline: RunConfig
    """The same run without what the cells change."""
    folder: Path
    cells: tuple[Cell, ...]

    @property
    def seed(self) -> int:
        """Seed of the training."""
        return self.config.train.seed

    @property
    def variant(self) -> str:
        """Hash of the settings without seeds and paths."""
        return variant_of(self.config)

    @property
    def name(self) -> str:
        """What the run is called in messages."""
        return self.folder.name.rpartition("-seed")[0]

    @property
    def users(self) -> str:
        """The rows that it is for, in words."""
        rows = list(dict.fromkeys(f"{cell.row} ({cell.reading})" if cell.reading else cell.row for cell in self.cells))
        return ", ".join(rows[:MOST_USERS]) + (f" and {len(rows) - MOST_USERS} more" if len(rows) > MOST_USERS else "")

    @property
    def detectors(self) -> frozenset[str]:
        """Post-hoc detectors that its cells need."""
        return frozenset(cell.detector for cell in self.cells if cell.detector)

    @property
    def needs_map(self) -> bool:
        """Whether a map of test images is drawn from its trained network."""
        return any(not cell.metrics for cell in self.cells)


@dataclass(frozen=True)
class Plan:
    """All runs of a table or figure on a scale."""

    experiment: Experiment
    scale: Scale
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]
    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def stored_scale(self) -> StoredScale:
        """The scale as the results store calls it."""
        return self.scale

    def runs_of(self, cell: Cell) -> list[Run]:
        """Return the runs of a cell, one a seed."""
        return [run for run in self.runs if cell in run.cells]


def plan_experiment(
    experiment: Experiment, cells: Sequence[Cell], scale: Scale, seeds: Sequence[int], places: Places, out: Path
) -> Plan:
    """Return the runs behind some cells of an experiment, each once; nothing is read or written.

    Args:
        experiment: a table or figure.
        cells: those of its cells that are asked for.
        scale: how large.
        seeds: of the training.
        places: where data lie.
        out: folder below which the runs lie.
    """
    left_out = [LeftOut(cell, reason) for cell in cells if (reason := why_left_out(cell, scale))]
    kept = [cell for cell in cells if not why_left_out(cell, scale)]
    shared: dict[RunConfig, list[Cell]] = {}
    configs = {cell: scaled_config(cell, scale, places) for cell in kept}
    for seed in seeds:
        for cell, config in configs.items():
            shared.setdefault(with_seed(config, seed), []).append(cell)
    runs = [
        Run(
            config,
            plain_config(users[0], scale, places, config.train.seed),
            out / RUNS / f"{_name(config)}-seed{config.train.seed}",
            tuple(users),
        )
        for config, users in shared.items()
    ]
    return Plan(experiment, scale, tuple(seeds), tuple(kept), tuple(runs), tuple(left_out))


def without_data(plan: Plan, missing: Iterable[Run]) -> Plan:
    """Return the plan without cells whose runs are missing and whose data are not there; the reasons say what to do.

    Raises:
        DataError: nothing is left.
    """
    problems = data_problems(missing)
    lacking = [LeftOut(cell, problems[run]) for run in plan.runs if run in problems for cell in run.cells]
    without = dict.fromkeys(entry.cell for entry in lacking)
    left_out = [*plan.left_out, *(next(e for e in lacking if e.cell == cell) for cell in without)]
    cells = tuple(cell for cell in plan.cells if cell not in without)
    if plan.experiment.cells and not cells:
        reasons = " ".join(dict.fromkeys(entry.reason for entry in left_out))
        raise DataError(f"nothing of {plan.experiment.name} can be run on the scale {plan.scale}: {reasons}")
    runs = tuple(run for run in plan.runs if run not in problems)
    return Plan(plan.experiment, plan.scale, plan.seeds, cells, runs, tuple(left_out))


def data_problems(runs: Iterable[Run]) -> dict[Run, str]:
    """Return, for runs whose benchmark cannot be read, the reason; each benchmark is tried once."""
    found: dict[tuple[str, str, str, int], str] = {}
    problems = {}
    for run in runs:
        if run.config.data.source:
            continue
        benchmark = run.config.data.benchmark
        key = (benchmark.name, benchmark.root, benchmark.open_source, benchmark.open_images)
        if key not in found:
            try:
                load_benchmark(benchmark)
                found[key] = ""
            except DataError as error:
                found[key] = str(error)
        if found[key]:
            problems[run] = found[key]
    return problems


def _name(config: RunConfig) -> str:
    preset = preset_of(config)
    noise = "" if config.data.source else noise_of(vars(config.data.benchmark.noise), preset)
    data = data_of(config, preset)
    if data.startswith("web-"):
        noise = ""
    frozen = "frozen" if config.data.frozen.backbone else ""
    return "-".join(filter(None, (data, noise, frozen, config.method, variant_of(config))))
