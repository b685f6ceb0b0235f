"""Several methods on one data set and several seeds: train what is missing, then one table and one drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lond.cluster.tasks import RayCluster
from lond.errors import ConfigError, counted
from lond.io.atomic import write_atomically
from lond.io.json_files import write_json
from lond.results.batch import Outcome, carry_out
from lond.results.curves import draw_curves
from lond.results.gather import fingerprint_of
from lond.results.groups import Group, over_last
from lond.results.jobs import Job
from lond.results.tables import METRICS, Table, as_csv, as_markdown, groups_table, runs_table
from lond.runs import load_data
from lond.runs.folder import check_same_data, make_manifest
from lond.train.runtime import RuntimeSettings

STORE = "store"
"""Results store of a comparison, in its folder."""

COMPARED = (*METRICS, "verdict_mislabelled_f1", "verdict_foreign_f1")
"""Metrics of the table, if no others are asked for."""

CURVES = ("accuracy", "auroc")
"""Metrics that are drawn epoch by epoch."""


@dataclass(frozen=True)
class Comparison:
    """A finished comparison: the runs of each method, best accuracy first, and what went wrong."""

    title: str
    groups: tuple[Group, ...]
    """Metrics of all runs are means over the same number of last epochs."""
    problems: dict[str, str] = field(hash=False)
    """Run -> why it failed."""
    metrics: tuple[str, ...] = COMPARED

    @property
    def mean_over_last(self) -> int:
        """Epochs that the metrics are means over; 0 if no run is finished."""
        return max((record.mean_over_last for group in self.groups for record in group.records), default=0)

    @property
    def table(self) -> Table:
        """One row per method: how it was trained, mean and deviation of each metric, and time."""
        return groups_table(self.groups, (*self.metrics, "seconds_an_epoch"))


def compare(
    jobs: Sequence[Job],
    title: str,
    store: Path,
    *,
    workers: int = 1,
    cluster: RayCluster | None = None,
    runtime: RuntimeSettings | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Train what is missing, one after the other, in ``workers`` processes or on a cluster, and gather the results.

    A run that fails is reported and does not stop the others; the same call tries it again.

    Raises:
        ConfigError: there is no test data, or a folder holds a run on other data.
    """
    if any(job.config.data != jobs[0].config.data for job in jobs):
        raise ConfigError("all methods must be trained on the same data; leave out settings that change it for one")
    samples, test, noise = load_data(jobs[0].config)
    if test is None:
        raise ConfigError("a comparison needs labelled test data: a test split of SOURCE, or --test")
    manifest = make_manifest(samples, test, noise)
    del samples, test
    for job in jobs:
        check_same_data(job.folder, manifest)
    fingerprint = fingerprint_of(manifest)
    outcome = carry_out(
        jobs, store, fingerprint=fingerprint, workers=workers, cluster=cluster, runtime=runtime, say=say
    )
    return _comparison(jobs, title, outcome)


def _comparison(jobs: Sequence[Job], title: str, outcome: Outcome) -> Comparison:
    # Warm-up epochs do not count, so short runs may have few that do; all methods are measured over the same number.
    window = min((record.mean_over_last for record in outcome.records.values()), default=0)
    groups = []
    for name in dict.fromkeys(job.name for job in jobs):
        own = [job for job in jobs if job.name == name]
        train = own[0].config.train
        trained = {"epochs": train.epochs, "batch_size": train.batch_size, "steps_a_phase": train.max_steps or "all"}
        records = tuple(over_last(outcome.records[job], window) for job in own if job in outcome.records)
        groups.append(Group({"method": name} | trained, records))
    groups.sort(key=lambda group: -(group.summary("accuracy").mean or 0))
    return Comparison(title, tuple(groups), {job.title: text for job, text in outcome.problems.items()})


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw the learning curves, best method first, and return the paths."""
    curves = {group.key["method"]: group.records for group in comparison.groups if group.records}
    return draw_curves(curves, CURVES, folder / "curves")


def write_tables(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the comparison as JSON (every value of every run), CSV and Markdown, and return the paths."""
    paths = [folder / f"comparison.{suffix}" for suffix in ("json", "csv", "md")]
    table, window = comparison.table, comparison.mean_over_last
    records = [record for group in comparison.groups for record in group.records]
    content = {"title": comparison.title, "mean_over_last": window, "rows": table.raw()}
    runs = runs_table(records, comparison.metrics).raw()
    write_json(paths[0], content | {"runs": runs, "problems": comparison.problems})
    write_atomically(paths[1], as_csv(table))
    heading = f"**{comparison.title}**, means over the last {counted(window, 'epoch')}\n\n"
    problems = "".join(f"\n{run}: {text}\n" for run, text in comparison.problems.items())
    write_atomically(paths[2], heading + as_markdown(table) + problems)
    return paths
