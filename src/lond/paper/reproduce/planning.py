"""Which runs a table or figure needs on a scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lond.config import RunConfig
from lond.data.benchmarks import load_benchmark
from lond.errors import DataError
from lond.paper import Cell, Experiment
from lond.paper.reproduce.configs import plain_config, scaled_config
from lond.paper.reproduce.scales import why_left_out
from lond.presets.benchmarks import preset_of
from lond.presets.changes import with_seed
from lond.presets.scales import Places
from lond.results.gather import record_of
from lond.results.identity import variant_of
from lond.results.jobs import Job, problem_text
from lond.results.naming import data_of, noise_of
from lond.results.records import PaperScale, Record
from lond.runs.detection import detect_run
from lond.train.runtime import RuntimeSettings

RUNS = "runs"
"""Folder of all runs, below that of the output; tables and figures share them."""

DETECTORS = "detect"
"""Where the comparison of detectors lies in a run's folder."""

MOST_USERS = 3
"""Rows of a run that are named."""


@dataclass(frozen=True)
class Run(Job):
    """One training run, and the cells that read their values from it.

    Examples:
        >>> from lond.paper import experiment
        >>> from lond.paper.reproduce.filters import chosen_cells
        >>> one = experiment("table1")
        >>> cells = chosen_cells(one.cells, ["SED", "sym20"])
        >>> plan = plan_experiment(one, cells, "full", [0, 1], Places(), Path("runs"))
        >>> plan.runs[0].config.method
        'sed'
    """

    baseline: RunConfig
    """The same run without what the cells change."""
    cells: tuple[Cell, ...]
    scale: PaperScale

    @property
    def variant(self) -> str:
        """Hash of the settings without seeds and paths."""
        return variant_of(self.config)

    @property
    def title(self) -> str:
        """What the run is called in messages, with the rows that it is for."""
        return f"{super().title}, {self.users}"

    @property
    def users(self) -> str:
        """The rows that it is for, in words."""
        rows = list(dict.fromkeys(cell.name for cell in self.cells))
        return ", ".join(rows[:MOST_USERS]) + (f" and {len(rows) - MOST_USERS} more" if len(rows) > MOST_USERS else "")

    @property
    def detectors(self) -> frozenset[str]:
        """Post-hoc detectors that its cells need."""
        return frozenset(cell.detector for cell in self.cells if cell.detector)

    @property
    def needs_map(self) -> bool:
        """Whether a map of test images is drawn from its trained network."""
        return any(not cell.metrics for cell in self.cells)

    def is_met_by(self, record: Record) -> bool:
        """Tell whether a stored record holds all detectors, and the trained network is there if a map needs it.

        A detector that failed is tried again where that costs no training.
        """
        held = {one.name for one in record.detectors if not (one.problem and self.finished)}
        return self.detectors <= held and (self.finished or not self.needs_map)

    def complete(self, runtime: RuntimeSettings) -> str:
        """Put detectors on the finished run if any are needed; return the problem, "" if there is none."""
        if self.detectors <= {one.name for one in self.record().detectors if not one.problem}:
            return ""
        root = "" if self.config.data.source else self.config.data.benchmark.root
        try:
            # All that suit the network: one pass over the images serves every table.
            detect_run(self.folder, "", "", root, None, self.folder / DETECTORS, runtime)
        except Exception as error:  # whatever it is, the run itself is good, and the others go on
            return f"no detectors: {problem_text(error)}"
        return ""

    def record(self) -> Record:
        """Return the record of the finished run, with what its cells change."""
        return record_of(self.folder, scale=self.scale, baseline=self.baseline)

    def notes_on(self, record: Record) -> list[str]:
        """Return which of its detectors failed, and why."""
        failed = {one.name: one.problem for one in record.detectors if one.problem}
        return [f"{super(Run, self).title}: no {name}: {failed[name]}" for name in self.detectors & set(failed)]


@dataclass(frozen=True)
class RunPlan:
    """All runs of a table or figure on a scale.

    Examples:
        >>> from lond.paper import experiment
        >>> from lond.paper.reproduce.filters import chosen_cells
        >>> one = experiment("table1")
        >>> cells = chosen_cells(one.cells, ["SED", "sym20"])
        >>> plan = plan_experiment(one, cells, "full", [0, 1], Places(), Path("runs"))
        >>> plan.seeds, len(plan.runs)
        ((0, 1), 4)
    """

    experiment: Experiment
    scale: PaperScale
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]
    runs: tuple[Run, ...]
    left_out: Mapping[Cell, str] = field(default_factory=dict, hash=False)
    """Cells that are not run, and why."""

    def runs_of(self, cell: Cell) -> list[Run]:
        """Return the runs of a cell, one per seed."""
        return [run for run in self.runs if cell in run.cells]


def plan_experiment(
    experiment: Experiment, cells: Sequence[Cell], scale: PaperScale, seeds: Sequence[int], places: Places, out: Path
) -> RunPlan:
    """Return the runs behind some cells of an experiment, each once; nothing is read or written.

    Args:
        experiment: a table or figure.
        cells: those of its cells that are asked for.
        scale: how large.
        seeds: of the training.
        places: where data lie.
        out: folder below which the runs lie.

    Examples:
        >>> from lond.paper import experiment
        >>> from lond.paper.reproduce.filters import chosen_cells
        >>> one = experiment("table1")
        >>> cells = chosen_cells(one.cells, ["SED", "sym20"])
        >>> plan = plan_experiment(one, cells, "full", [0, 1], Places(), Path("runs"))
        >>> sorted({run.config.train.seed for run in plan.runs})
        [0, 1]
    """
    left_out = {cell: reason for cell in cells if (reason := why_left_out(cell, scale))}
    kept = [cell for cell in cells if cell not in left_out]
    shared: dict[RunConfig, list[Cell]] = {}
    configs = {cell: scaled_config(cell, scale, places) for cell in kept}
    for seed in seeds:
        for cell, config in configs.items():
            shared.setdefault(with_seed(config, seed), []).append(cell)
    runs = []
    for config, users in shared.items():
        name, seed = _name(config), config.train.seed
        baseline = plain_config(users[0], scale, places, seed)
        runs.append(Run(name, config, out / RUNS / f"{name}-seed{seed}", baseline, tuple(users), scale))
    return RunPlan(experiment, scale, tuple(seeds), tuple(kept), tuple(runs), left_out)


def without_data(plan: RunPlan, missing: Iterable[Run]) -> RunPlan:
    """Return the plan without cells whose runs are missing and whose data are not there; the reasons say what to do.

    Raises:
        DataError: nothing is left.

    Examples:
        >>> from lond.paper import experiment
        >>> from lond.paper.reproduce.filters import chosen_cells
        >>> one = experiment("table1")
        >>> cells = chosen_cells(one.cells, ["SED", "sym20"])
        >>> plan = plan_experiment(one, cells, "full", [0, 1], Places(), Path("runs"))
        >>> without_data(plan, []) == plan
        True
    """
    problems = data_problems(missing)
    lacking = {cell: problems[run] for run in plan.runs if run in problems for cell in run.cells}
    left_out = {**plan.left_out, **lacking}
    cells = tuple(cell for cell in plan.cells if cell not in left_out)
    if plan.experiment.cells and not cells:
        reasons = " ".join(dict.fromkeys(left_out.values()))
        raise DataError(f"nothing of {plan.experiment.name} can be run on the scale {plan.scale}: {reasons}")
    runs = tuple(run for run in plan.runs if run not in problems)
    return replace(plan, cells=cells, runs=runs, left_out=left_out)


def data_problems(runs: Iterable[Run]) -> dict[Run, str]:
    """Return, for runs whose benchmark cannot be read, the reason; each benchmark is tried once.

    Examples:
        >>> from lond.paper import experiment
        >>> from lond.paper.reproduce.filters import chosen_cells
        >>> one = experiment("table1")
        >>> cells = chosen_cells(one.cells, ["SED", "sym20"])
        >>> plan = plan_experiment(one, cells, "full", [0, 1], Places(), Path("runs"))
        >>> len(data_problems(plan.runs[:1]))  # the files are not there
        1
    """
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
