"""Several methods on one data set and several seeds: train what is missing, then one table and one figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lond.config import RunConfig
from lond.errors import ConfigError
from lond.io.atomic import write_atomically
from lond.io.csv_files import write_rows
from lond.io.json_files import read_json, read_json_lines, write_json
from lond.plots import draw_curves
from lond.results.jobs import Job, train_all
from lond.runs import METRICS, load_data
from lond.runs.folder import check_same_data, make_manifest
from lond.train.loop import LOG, mean_of_last
from lond.train.runtime import RuntimeSettings

FIGURES = {
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "fpr95": "FPR95",
    "verdict_mislabelled_f1": "F1 mislabelled",
    "verdict_foreign_f1": "F1 foreign",
}
"""Figures of the table, all shares, with their titles."""

CURVES = ("accuracy", "auroc")
"""Figures that are drawn epoch by epoch."""


@dataclass(frozen=True)
class Row:
    """What the runs of one method came to; ``values`` holds each figure of each finished seed."""

    method: str
    seeds: list[int]
    values: dict[str, list[float]]
    epochs: int
    batch_size: int
    max_steps: int
    mean_over_last: int
    seconds_an_epoch: float
    problems: dict[str, str]

    def mean(self, figure: str) -> float | None:
        """Return the mean over the seeds, None if there is none."""
        values = self.values.get(figure)
        return statistics.fmean(values) if values else None

    def deviation(self, figure: str) -> float | None:
        """Return the sample standard deviation over the seeds, None for fewer than two."""
        values = self.values.get(figure, [])
        return statistics.stdev(values) if len(values) > 1 else None


@dataclass(frozen=True)
class Report:
    """A finished comparison: its rows, best accuracy first, the learning curves, and what they are about."""

    title: str
    rows: list[Row]
    curves: dict[str, list[list[dict[str, Any]]]]
    """Method -> the epochs' records of each seed."""


def compare(
    jobs: Sequence[Job],
    title: str,
    *,
    workers: int = 1,
    runtime: RuntimeSettings | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Report:
    """Train what is missing, one run after the other or in ``workers`` processes, and gather the results.

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
    missing = [job for job in jobs if not job.finished]
    for job in missing:
        # Where nothing can be written is told now, not by every run.
        job.folder.mkdir(parents=True, exist_ok=True)
    say(f"{len(jobs)} runs, {len(jobs) - len(missing)} finished before")
    problems: dict[tuple[str, int], str] = {}
    with closing(train_all(missing, workers, runtime or RuntimeSettings())) as ended:
        for done, (job, problem) in enumerate(ended, start=1):
            if problem is not None:
                problems[job.method, job.seed] = problem
            outcome = problem or _short_outcome(job)
            say(f"[{done}/{len(missing)}] {job.method}, seed {job.seed}: {outcome}")
    return _report(jobs, title, problems)


def _short_outcome(job: Job) -> str:
    metrics = read_json(job.folder / METRICS)["metrics"]
    parts = [f"{FIGURES[name]} {100 * metrics[name]:.2f} %" for name in CURVES if name in metrics]
    return ", ".join(parts)


def _report(jobs: Sequence[Job], title: str, problems: Mapping[tuple[str, int], str]) -> Report:
    methods = list(dict.fromkeys(job.method for job in jobs))
    # Warm-up epochs do not count, so short runs may have few that do; all methods are measured over the same number.
    windows = [read_json(job.folder / METRICS)["mean_over_last"] for job in jobs if job.finished]
    window = min(windows, default=0)
    rows, curves = [], {}
    for method in methods:
        own = [job for job in jobs if job.method == method]
        finished = [job for job in own if job.finished]
        failed = {str(job.seed): problems[method, job.seed] for job in own if (method, job.seed) in problems}
        curves[method] = [read_json_lines(job.folder / LOG) for job in finished]
        rows.append(_row(method, own[0].config, finished, curves[method], window, failed))
    rows.sort(key=lambda row: -(row.mean("accuracy") or 0))
    return Report(title, rows, curves)


def _row(
    method: str,
    config: RunConfig,
    finished: Sequence[Job],
    logs: Sequence[list[dict[str, Any]]],
    window: int,
    problems: dict[str, str],
) -> Row:
    outcomes = [read_json(job.folder / METRICS) for job in finished]
    figures = [
        {**mean_of_last(log, window), **outcome.get("verdicts", {})}
        for log, outcome in zip(logs, outcomes, strict=True)
    ]
    values = {
        name: [float(figure[name]) for figure in figures]
        for name in FIGURES
        if figures and all(_is_number(figure.get(name)) for figure in figures)
    }
    return Row(
        method=method,
        seeds=[job.seed for job in finished],
        values=values,
        epochs=config.train.epochs,
        batch_size=config.train.batch_size,
        max_steps=config.train.max_steps,
        mean_over_last=window,
        seconds_an_epoch=statistics.fmean(o["seconds_an_epoch"] for o in outcomes) if outcomes else math.nan,
        problems=problems,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


# Files


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw the learning curves, best method first, and return the paths."""
    curves = {row.method: report.curves[row.method] for row in report.rows if report.curves[row.method]}
    return draw_curves(curves, {name: FIGURES[name] for name in CURVES}, folder / "curves")


def write_tables(report: Report, folder: Path) -> list[Path]:
    """Write the comparison as JSON (every value), CSV and Markdown, and return the paths."""
    paths = [folder / f"comparison.{suffix}" for suffix in ("json", "csv", "md")]
    rows = [
        asdict(row)
        | {"mean": {name: row.mean(name) for name in FIGURES}, "sd": {name: row.deviation(name) for name in FIGURES}}
        for row in report.rows
    ]
    write_json(paths[0], {"title": report.title, "rows": rows})
    _write_csv(paths[1], report.rows)
    write_atomically(paths[2], markdown(report))
    return paths


def markdown(report: Report) -> str:
    """Return the table in percent, mean and standard deviation (for several seeds) of each figure."""
    titles = ["method", "seeds", *FIGURES.values(), "steps an epoch", "seconds an epoch"]
    window = max((row.mean_over_last for row in report.rows), default=0)
    lines = [
        f"**{report.title}**, means over the last {window} epoch(s)",
        "",
        _line(titles),
        "|".join(["", *["---"] * len(titles), ""]),
    ]
    lines += [_line(cells(row)) for row in report.rows]
    lines += ["", *(f"{row.method}, seed {seed}: {text}" for row in report.rows for seed, text in row.problems.items())]
    return "\n".join(lines).rstrip() + "\n"


def cells(row: Row) -> list[str]:
    """Return the texts of one row of the table."""
    figures = [_percent(row.mean(name), row.deviation(name)) for name in FIGURES]
    steps = f"at most {row.max_steps} a phase" if row.max_steps else "all"
    seconds = "–" if math.isnan(row.seconds_an_epoch) else f"{row.seconds_an_epoch:.1f}"
    return [row.method, str(len(row.seeds)), *figures, steps, seconds]


def _percent(mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return "–"
    return f"{100 * mean:.2f}" + ("" if deviation is None else f" ± {100 * deviation:.2f}")


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    names = ["method", "n", *(f"{name}_{kind}" for name in FIGURES for kind in ("mean", "sd"))]
    names += ["epochs", "batch_size", "max_steps", "mean_over_last", "seconds_an_epoch"]
    lines = []
    for row in rows:
        figures = [value for name in FIGURES for value in (row.mean(name), row.deviation(name))]
        rest = [row.epochs, row.batch_size, row.max_steps, row.mean_over_last, row.seconds_an_epoch]
        lines.append([row.method, len(row.seeds), *figures, *rest])
    write_rows(path, names, lines)
