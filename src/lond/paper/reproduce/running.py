"""Making what is missing: runs are trained or resumed, detectors put on them, and results stored one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from lond.config import RunConfig
from lond.errors import LondError
from lond.paper.reproduce.planning import Plan, Run
from lond.presets.benchmarks import preset_of
from lond.results.gather import record_of
from lond.results.jobs import Job, train_all
from lond.results.naming import data_of
from lond.results.records import DetectorRecord, Record
from lond.results.store import ContradictionError, load, scan, write
from lond.runs.detection import detect_run
from lond.runs.folder import METRICS, claim
from lond.train.loop import CHECKPOINT
from lond.train.runtime import RuntimeSettings

DETECTORS = "detect"
"""Where the comparison of detectors lies in a run's folder."""

SHORT = {"accuracy": "accuracy", "auroc": "AUROC"}
"""Figures that are told when a run ends."""

Say = Callable[[str], None]


@dataclass
class Outcome:
    """What came of a plan: the record of each finished run, and what went wrong."""

    records: dict[Run, Record] = field(default_factory=dict)
    problems: dict[Run, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def is_finished(run: Run) -> bool:
    """Tell whether the folder of a run holds its result."""
    return (run.folder / METRICS).is_file()


def is_begun(run: Run) -> bool:
    """Tell whether a run was cut: its folder holds a state to go on from, but no result."""
    return (run.folder / CHECKPOINT).is_file() and not is_finished(run)


def stored_records(runs: Iterable[Run], store: Path) -> dict[Run, Record]:
    """Return what a store holds of these runs: the same settings, seeds and data set."""
    held: dict[tuple[str, int], list[Record]] = {}
    for record in scan(store)[0] if store.is_dir() else []:
        held.setdefault((record.variant, record.seeds.training), []).append(record)
    found = {}
    for run in runs:
        fitting = [record for record in held.get((run.variant, run.seed), []) if _same_data(record, run.config)]
        if fitting:
            found[run] = fitting[0]
    return found


def _same_data(record: Record, config: RunConfig) -> bool:
    """Tell whether data set and other seeds agree; a variant knows neither."""
    noise = config.data.benchmark.noise.seed
    return (
        record.data == data_of(config, preset_of(config))
        and record.seeds.split == config.data.split_seed
        and record.seeds.noise in (None, noise)
    )


def store_notes(store: Path) -> list[str]:
    """Return what a store holds that cannot be read: such a run would be trained again, and not be stored."""
    unusable = scan(store)[1] if store.is_dir() else []
    return [f"{file.path} is left out: {file.reason}; if it is of a run of these, delete it first" for file in unusable]


def lacks(run: Run, record: Record) -> bool:
    """Tell whether a stored result is not enough: a detector is missing, or the trained network is needed.

    A detector that failed is tried again where that costs no training.
    """
    held = names_of(record.detectors) if is_finished(run) else {detector.name for detector in record.detectors}
    return not run.detectors <= held or (run.needs_map and not is_finished(run))


def names_of(detectors: Iterable[DetectorRecord]) -> set[str]:
    """Return the detectors that have figures."""
    return {detector.name for detector in detectors if not detector.problem}


def missing_runs(plan: Plan, store: Path) -> list[Run]:
    """Return the runs that are still to be trained, or trained to the end."""
    stored = stored_records(plan.runs, store)
    return [run for run in plan.runs if not is_finished(run) and (run not in stored or lacks(run, stored[run]))]


def carry_out(
    plan: Plan,
    store: Path,
    root: str,
    *,
    workers: int = 1,
    runtime: RuntimeSettings | None = None,
    say: Say = lambda text: None,
) -> Outcome:
    """Train what is missing, one run after the other or in ``workers`` processes, and store every result at once.

    A run that fails is told of and does not stop the others; an interrupt stops all, and the same call goes on.

    Raises:
        ConfigError: the folder of a run holds a run of other settings; nothing has been trained yet.
    """
    runtime = runtime or RuntimeSettings()
    outcome, stored = Outcome(), stored_records(plan.runs, store)
    missing = missing_runs(plan, store)
    for run in missing:
        claim(run.folder, run.config)
    say(f"{len(plan.runs)} runs, {len(plan.runs) - len(missing)} finished before")
    for run in plan.runs:
        if run in stored and not lacks(run, stored[run]):
            outcome.records[run] = stored[run]
        elif run not in missing:
            _keep(run, plan, store, root, runtime, outcome, lacking=run in stored)
    jobs = {run.folder: run for run in missing}
    todo = [Job(run.config.method, run.seed, run.config, run.folder) for run in missing]
    with closing(train_all(todo, workers, runtime)) as ended:
        for done, (job, problem) in enumerate(ended, start=1):
            run = jobs[job.folder]
            if problem is None:
                _keep(run, plan, store, root, runtime, outcome, lacking=run in stored)
            else:
                outcome.problems[run] = problem
            say(f"[{done}/{len(missing)}] {run.name}, seed {run.seed}, {run.users}: {_told(run, outcome)}")
    return outcome


def _keep(
    run: Run, plan: Plan, store: Path, root: str, runtime: RuntimeSettings, outcome: Outcome, *, lacking: bool
) -> None:
    """Put detectors on a finished run if any are needed, and store its record.

    Args:
        run: whose folder holds a result.
        plan: what it belongs to.
        store: where its record goes.
        root: folder with the benchmarks' files.
        runtime: where detectors are computed.
        outcome: gets the record, or the problem.
        lacking: whether the store holds a record of this run that is not enough.
    """
    try:
        if not run.detectors <= names_of(record_of(run.folder).detectors):
            _detect(run, root, runtime, outcome)
        record = record_of(run.folder, scale=plan.stored_scale, baseline=run.baseline)
    except LondError as error:
        outcome.problems[run] = f"{error}. If it cannot be repaired, delete {run.folder} to train it again"
        return
    outcome.records[run] = record
    failed = {detector.name: detector.problem for detector in record.detectors if detector.problem}
    outcome.notes += [f"{run.name}, seed {run.seed}: no {name}: {failed[name]}" for name in run.detectors & set(failed)]
    try:
        outcome.records[run] = load(_write(store, record, outcome, replace=lacking))
    except LondError as error:
        outcome.problems[run] = f"not stored: {error}"


def _detect(run: Run, root: str, runtime: RuntimeSettings, outcome: Outcome) -> None:
    place = "" if run.config.data.source else root
    try:
        # All that suit the network: one pass over the images serves every table.
        detect_run(run.folder, "", "", place, None, run.folder / DETECTORS, runtime)
    except Exception as error:  # whatever it is, the run itself is good, and the others go on
        outcome.problems[run] = f"no detectors: {_text(error)}"


def _write(store: Path, record: Record, outcome: Outcome, *, replace: bool) -> Path:
    """Store a record and return its path; if asked, also in place of one that rounding makes differ."""
    try:
        return write(store, record).path
    except ContradictionError as error:
        if not replace:
            raise
        # Detectors and maps must be of the network that the other figures are of.
        outcome.notes.append(f"trained again, and put in place of what was stored ({error.differing})")
        return write(store, record, replace=True).path


def _told(run: Run, outcome: Outcome) -> str:
    if run in outcome.problems:
        return outcome.problems[run]
    figures: Mapping[str, float | None] = outcome.records[run].metrics
    shown = {title: figures.get(name) for name, title in SHORT.items()}
    return ", ".join(f"{title} {100 * value:.2f} %" for title, value in shown.items() if value is not None)


def _text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, LondError) else f"{type(error).__name__}: {text}"
