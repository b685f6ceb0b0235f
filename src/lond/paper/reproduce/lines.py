"""The values of a table: ours over the seeds, beside the printed ones. Importing it loads no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lond.paper import MEAN, Cell, Published, published_of, table
from lond.paper.figures import SCORE, SWEEPS
from lond.paper.reproduce.scales import COMPARABLE
from lond.results.groups import Summary, summarise
from lond.results.records import Record

if TYPE_CHECKING:
    from lond.paper.reproduce.planning import RunPlan
    from lond.results.batch import Outcome

FITTED_CLEAN = "fitted on training samples judged clean"
"""The second reading of detectors that can be fitted on all training samples or on these."""

FITTED_TWICE = ("knn", "mds", "openmax")
"""The paper's detectors of this kind; ``lond.detect`` says so of each, and is not imported since it loads PyTorch."""

ALL, CLEAN = "all", "clean"
"""What a record says of such a detector."""


@dataclass(frozen=True)
class Line:
    """One metric of a contender: our values in percent by seed, and the printed one."""

    row: str
    method: str
    detector: str
    data: str
    noise: str
    metric: str
    reading: str
    values: dict[int, float]
    published: float | None = None
    comparable: bool = False
    """Whether the runs are of the paper's data, or a part of them."""

    @property
    def name(self) -> str:
        """The contender, with its reading if there are several."""
        return f"{self.row} ({self.reading})" if self.reading else self.row

    @property
    def summary(self) -> Summary:
        """n, mean and sample standard deviation over the seeds, in percent."""
        return summarise(list(self.values.values()))

    @property
    def delta(self) -> float | None:
        """Our mean minus the printed value, where the two are of the same data."""
        mean = self.summary.mean
        return mean - self.published if self.comparable and mean is not None and self.published is not None else None


def lines_of(plan: RunPlan, outcome: Outcome) -> list[Line]:
    """Return a line for every metric of every cell, then the averages that the paper prints besides."""
    comparable = plan.scale in COMPARABLE
    lines: list[Line] = []
    for cell in plan.cells:
        records = {run.seed: outcome.records[run] for run in plan.runs_of(cell) if run in outcome.records}
        lines += cell_lines(cell, records, comparable)
    return with_averages(lines, plan.experiment.name)


def with_averages(lines: Sequence[Line], experiment: str) -> list[Line]:
    """Return lines with the averages that the paper prints, or draws, besides."""
    swept = sweep_scores(lines) if any(sweep.experiment == experiment for sweep in SWEEPS) else []
    return [*lines, *averages(lines, table(experiment)), *swept]


def cell_lines(cell: Cell, records: Mapping[int, Record], comparable: bool) -> Iterator[Line]:
    """Yield a line for every metric of a cell, from its record of each seed."""
    printed = published_of(cell)
    for read in readings(cell):
        for metric in cell.metrics:
            found = {seed: value_of(record, read, metric) for seed, record in records.items()}
            values = {seed: 100 * value for seed, value in found.items() if value is not None}
            yield Line(
                cell.row, cell.method, cell.detector, cell.data, cell.noise, metric, read.reading, values,
                printed.get(metric), comparable,
            )  # fmt: skip


def readings(cell: Cell) -> list[Cell]:
    """Return the cell, and once more if its detector can be fitted on samples judged clean, too."""
    if cell.detector not in FITTED_TWICE:
        return [cell]
    return [cell, replace(cell, reading=FITTED_CLEAN)]


def value_of(record: Record, cell: Cell, metric: str) -> float | None:
    """Return a value of a run, or of the cell's detector on it, as a share; None if there is none."""
    if not cell.detector:
        return record.value(metric)
    fits = {detector.fitted_on: detector for detector in record.detectors if detector.name == cell.detector}
    if cell.detector in FITTED_TWICE:
        chosen = fits.get(CLEAN if cell.reading == FITTED_CLEAN else ALL)
    else:
        chosen = next(iter(fits.values()), None)
    return None if chosen is None else chosen.figures.get(metric)


def score_of(lines: Sequence[Line], row: str, noise: str) -> Summary:
    """Return the mean of accuracy and AUROC of a swept value, in percent; ``MEAN`` stands for all noises together.

    The lines are those of ``with_averages``.
    """
    place = (row, noise, MEAN)
    return next((line.summary for line in lines if (line.row, line.noise, line.metric) == place), summarise([]))


def sweep_scores(lines: Sequence[Line]) -> list[Line]:
    """Return, for each swept value, the mean of accuracy and AUROC under each noise, and over all noises.

    The last is what the paper draws; it is left out for a value that lacks one of them.
    """
    noises, found = list(dict.fromkeys(line.noise for line in lines)), list[Line]()
    for row in dict.fromkeys(line.row for line in lines):
        own = {(line.noise, line.metric): line for line in lines if line.row == row}
        scores = [
            replace(own[noise, SCORE[0]], metric=MEAN, values=_mean_values([own[noise, metric] for metric in SCORE]))
            for noise in noises
            if all((noise, metric) in own for metric in SCORE)
        ]
        found += scores
        if len(scores) == len(noises) > 1:
            found.append(replace(scores[0], noise=MEAN, values=_mean_values(scores)))
    return found


def averages(lines: Sequence[Line], printed: Sequence[Published]) -> list[Line]:
    """Return our versions of the printed averages, for each reading; without one of its parts there is no average."""
    found = []
    for average in (entry for entry in printed if entry.is_mean):
        wanted = {_place(part) for part in printed if not part.is_mean and _is_part(part, average)}
        for reading in dict.fromkeys(line.reading for line in lines if line.row == average.row):
            parts = [line for line in lines if line.reading == reading and _is_part(line, average)]
            parts = [part for part in parts if _place(part) in wanted]
            if parts and {_place(part) for part in parts} == wanted:
                data, noise, metric = _place(average)
                ours = replace(parts[0], data=data, noise=noise, metric=metric, values=_mean_values(parts))
                found.append(replace(ours, published=average.value))
    return found


def _place(entry: Line | Published) -> tuple[str, str, str]:
    return entry.data, entry.noise, entry.metric


def _is_part(part: Line | Published, average: Published) -> bool:
    """Tell whether a value is one of those that an average runs over."""
    return (
        (part.row, part.detector) == (average.row, average.detector)
        and average.data in (MEAN, part.data)
        and average.noise in (MEAN, part.noise)
        and (average.metric == part.metric or (average.metric == MEAN and part.metric in SCORE))
    )


def _mean_values(parts: Sequence[Line]) -> dict[int, float]:
    seeds = set.intersection(*(set(part.values) for part in parts))
    return {seed: sum(part.values[seed] for part in parts) / len(parts) for seed in sorted(seeds)}
