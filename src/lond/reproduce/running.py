"""Making what is missing: runs are trained or resumed, detectors put on them, and results stored one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from lond.config import RunConfig
from lond.errors import LondError
from lond.jobs import Job, train_all
from lond.reproduce.planning import Plan, Run
from lond.runs.detection import detect_run
from lond.runs.folder import METRICS, claim
from lond.store.files import load, scan, write
from lond.store.gather import record_of, this_machine
from lond.store.naming import data_of, preset_of
from lond.store.records import Machine, Record
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


def lacks(run: Run, record: Record) -> bool:
    """Tell whether a stored result is not enough: a detector is missing, or the trained network is needed."""
    detectors = {detector.name for detector in record.detectors}
    return not run.detectors <= detectors or (run.needs_map and not is_finished(run))


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
            _keep(run, plan, store, root, None, outcome)
    jobs = {run.folder: run for run in missing}
    machine = _machine(runtime)
    todo = [Job(run.config.method, run.seed, run.config, run.folder) for run in missing]
    with closing(train_all(todo, workers, runtime)) as ended:
        for done, (job, problem) in enumerate(ended, start=1):
            run = jobs[job.folder]
            if problem is None:
                _keep(run, plan, store, root, machine, outcome)
            else:
                outcome.problems[run] = problem
            say(f"[{done}/{len(missing)}] {run.name}, seed {run.seed}: {_told(run, outcome)}")
    return outcome


def _keep(run: Run, plan: Plan, store: Path, root: str, machine: Machine | None, outcome: Outcome) -> None:
    """Put detectors on a finished run if any are needed, and store its record."""
    if run.detectors and not _has_detectors(run):
        try:
            # All that suit the network: one pass over the images serves every table.
            detect_run(run.folder, "", "", "" if run.config.data.source else root, None, run.folder / DETECTORS)
        except Exception as error:  # whatever it is, the run itself is good, and the others go on
            outcome.problems[run] = f"no detectors: {_text(error)}"
    try:
        record = record_of(run.folder, scale=plan.stored_scale, baseline=run.baseline, machine=machine)
        outcome.records[run] = record
        outcome.records[run] = load(write(store, record).path)
    except LondError as error:
        outcome.problems[run] = f"not stored: {error}"


def _has_detectors(run: Run) -> bool:
    try:
        record = record_of(run.folder)
    except LondError:
        return False
    return run.detectors <= {detector.name for detector in record.detectors}


def _machine(runtime: RuntimeSettings) -> Machine:
    machine = this_machine(runtime.precision)
    if runtime.accelerator == "cpu":
        machine = replace(machine, device="cpu")
    return replace(machine, threads=runtime.threads or machine.threads)


def _told(run: Run, outcome: Outcome) -> str:
    if run in outcome.problems:
        return outcome.problems[run]
    figures: Mapping[str, float | None] = outcome.records[run].metrics
    shown = {title: figures.get(name) for name, title in SHORT.items()}
    return ", ".join(f"{title} {100 * value:.2f} %" for title, value in shown.items() if value is not None)


def _text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, LondError) else f"{type(error).__name__}: {text}"
