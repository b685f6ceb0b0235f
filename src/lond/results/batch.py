"""Many runs: what is stored is read, what is missing is trained, and every result is stored as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lond.cluster.tasks import RayCluster
from lond.errors import LondError
from lond.results.identity import runs_of
from lond.results.jobs import Job, train_all
from lond.results.on_cluster import train_on
from lond.results.records import DataPart, Record
from lond.results.store import ContradictionError, load, scan, write
from lond.results.tables import metric_column, shown
from lond.runs.folder import claim
from lond.train.runtime import RuntimeSettings

TOLD = ("accuracy", "auroc")
"""Metrics that are told when a run ends."""

Fingerprint = Mapping[str, DataPart]
AJob = TypeVar("AJob", bound=Job)


@dataclass
class Outcome:
    """What came of several runs: the record of each finished one, and what went wrong."""

    records: dict[Job, Record] = field(default_factory=dict)
    problems: dict[Job, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def stored_records(jobs: Iterable[AJob], store: Path, fingerprint: Fingerprint | None = None) -> dict[AJob, Record]:
    """Return what a store holds of these runs; a fingerprint of the data, if given, must fit, too."""
    records = scan(store)[0] if store.is_dir() else []
    found = {job: runs_of(job.config, records, fingerprint) for job in jobs}
    return {job: fitting[0] for job, fitting in found.items() if fitting}


def missing_jobs(jobs: Iterable[AJob], stored: Mapping[AJob, Record]) -> list[AJob]:
    """Return the runs that are still to be trained, or trained to the end."""
    return [job for job in jobs if not job.finished and (job not in stored or not job.is_met_by(stored[job]))]


def store_notes(store: Path) -> list[str]:
    """Return what a store holds that cannot be read: such a run would be trained again, and not be stored."""
    unusable = scan(store)[1] if store.is_dir() else []
    return [f"{file.path} is left out: {file.reason}; if it is of a run of these, delete it first" for file in unusable]


def carry_out(
    jobs: Sequence[Job],
    store: Path,
    *,
    fingerprint: Fingerprint | None = None,
    workers: int = 1,
    cluster: RayCluster | None = None,
    runtime: RuntimeSettings | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Train what is missing, one after the other, in processes or on a cluster, and store every result at once.

    A run that fails is told of and does not stop the others; an interrupt stops all, and the same call goes on.

    Args:
        jobs: the runs.
        store: a results store, made if there is none.
        fingerprint: of the data, if they are at hand; stored runs on other data do not count.
        workers: runs at a time; on a cluster, 0 = as many as it has room for.
        cluster: trains the runs, in folders that all its machines see; None trains on this machine.
        runtime: where to compute.
        say: told of every run that ends.

    Raises:
        ConfigError: the folder of a run holds a run of other settings; nothing has been trained yet.
    """
    runtime, outcome = runtime or RuntimeSettings(), Outcome()
    stored = stored_records(jobs, store, fingerprint)
    missing = missing_jobs(jobs, stored)
    for job in missing:
        claim(job.folder, job.config)
    say(f"{len(jobs)} runs, {len(jobs) - len(missing)} finished before")
    for job in jobs:
        if job in stored and job.is_met_by(stored[job]):
            outcome.records[job] = stored[job]
        elif job not in missing:
            _keep(job, store, runtime, outcome, lacking=job in stored)
    training = train_all(missing, workers, runtime) if cluster is None else train_on(cluster, missing, workers, runtime)
    with closing(training) as ended:
        for done, (job, problem) in enumerate(ended, start=1):
            if problem is None:
                _keep(job, store, runtime, outcome, lacking=job in stored)
            else:
                outcome.problems[job] = problem
            say(f"[{done}/{len(missing)}] {job.title}: {outcome.problems.get(job) or _told(outcome.records[job])}")
    return outcome


def _keep(job: Job, store: Path, runtime: RuntimeSettings, outcome: Outcome, *, lacking: bool) -> None:
    """Store the record of a finished run; ``lacking``: the store holds one that is not enough."""
    try:
        problem = job.complete(runtime)
        record = job.record()
    except LondError as error:
        outcome.problems[job] = f"{error}. If it cannot be repaired, delete {job.folder} to train it again"
        return
    outcome.records[job] = record
    outcome.notes += job.notes_on(record)
    try:
        outcome.records[job] = load(_write(store, record, outcome, replace=lacking))
    except LondError as error:
        problem = f"not stored: {error}"
    if problem:
        outcome.problems[job] = problem


def _write(store: Path, record: Record, outcome: Outcome, *, replace: bool) -> Path:
    """Store a record and return its path; if asked, also in place of one that rounding makes differ."""
    try:
        return write(store, record).path
    except ContradictionError as error:
        if not replace:
            raise
        # Detectors and maps must be of the network that the other values are of.
        outcome.notes.append(f"trained again, and put in place of what was stored ({error.differing})")
        return write(store, record, replace=True).path


def _told(record: Record) -> str:
    values = {metric_column(name).title: record.value(name) for name in TOLD}
    return ", ".join(f"{title} {shown(value, 'share')} %" for title, value in values.items() if value is not None)
