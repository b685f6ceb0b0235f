"""The ablation by direction: what each row loses against the full method and adds to the row before, here and there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from lond.paper import MEAN, table
from lond.paper.cells import ABLATION
from lond.paper.names import PRINTED_NOISE
from lond.paper.reproduce.lines import Line
from lond.results.groups import Summary, summarise
from lond.results.tables import NONE, Column, Table, metric_column, shown

EXPERIMENT = "table4"
FULL = next(row for row, switches in ABLATION.items() if not switches)
"""The row of the whole method."""


@dataclass(frozen=True)
class Direction:
    """A row of the ablation minus another one, in percentage points."""

    name: str
    against: str
    noise: str
    metric: str
    here: Summary
    """Over the seeds that both have; each seed is compared with itself."""
    paper: Mapping[str, float] = field(hash=False)
    """Printed noise -> the same difference there: under the same noise, or under all if the paper has not got it."""
    second_reading: bool = False
    """Whether one of the rows is a second reading of what the paper says; such ones are shown, but not counted."""

    @property
    def agrees(self) -> bool | None:
        """Whether the signs are the same; None if there is nothing to compare, or the paper has no direction.

        It has none where it prints no difference, or different ones under the noises compared with.
        """
        signs = {sign(value) for value in self.paper.values()}
        if self.here.mean is None or len(signs) != 1 or signs == {0}:
            return None
        return signs == {sign(self.here.mean)}


def sign(value: float) -> int:
    """Return -1, 0 or 1; what rounds to nothing at the paper's two digits is 0."""
    rounded = round(value, 2)
    return (rounded > 0) - (rounded < 0)


def comparisons_of(experiment: str, lines: Sequence[Line]) -> dict[str, list[Direction]]:
    """Return the differences of the ablation's rows by what they are taken to; nothing for other experiments."""
    if experiment != EXPERIMENT:
        return {}
    others = {row: FULL for row in ABLATION if row != FULL}
    before = dict(pairwise(reversed(ABLATION)))
    found = {"the full method": _differences(lines, others), "the row before": _differences(lines, before)}
    return {against: directions for against, directions in found.items() if directions}


def _differences(lines: Sequence[Line], against: Mapping[str, str]) -> list[Direction]:
    """Return the differences of rows to those named, to each reading of them."""
    found = []
    for line, other in product(lines, lines):
        same = (line.data, line.noise, line.metric) == (other.data, other.noise, other.metric)
        if not same or against.get(line.row) != other.row or line.metric == MEAN:
            continue
        here = summarise([line.values[seed] - other.values[seed] for seed in line.values if seed in other.values])
        if here.n:
            second = bool(line.reading or other.reading)
            paper = _printed(line, other)
            found.append(Direction(line.name, other.name, line.noise, line.metric, here, paper, second))
    return found


def _printed(line: Line, other: Line) -> dict[str, float]:
    """Return the paper's differences of two rows, by noise."""
    printed = {(entry.row, entry.noise): entry.value for entry in table(EXPERIMENT) if entry.metric == line.metric}
    noises = dict.fromkeys(noise for _, noise in printed)
    compared = [line.noise] if line.noise in noises else list(noises)
    return {noise: printed[line.row, noise] - printed[other.row, noise] for noise in compared}


def directions_table(directions: Sequence[Direction]) -> Table:
    """Return one row a difference: ours, the paper's, and whether both point the same way."""
    titles = ("noise", "row", "minus", "figure", "here", "in the paper", "same direction")
    rows = []
    for one in directions:
        own = list(one.paper) == [one.noise]
        paper = ", ".join(
            shown(value, "points") + ("" if own else f" ({PRINTED_NOISE[noise]})") for noise, value in one.paper.items()
        )
        agrees = NONE if one.agrees is None else ("no", "yes")[one.agrees]
        noise, metric = PRINTED_NOISE[one.noise], metric_column(one.metric).title
        rows.append((noise, one.name, one.against, metric, shown(one.here, "points"), paper, agrees))
    return Table(tuple(map(Column, titles)), tuple(rows))


def summary_of(directions: Sequence[Direction], against: str) -> str:
    """Return how many differences to something have the paper's sign, and which do not; "" if there are none."""
    judged = [one for one in directions if one.agrees is not None and not one.second_reading]
    if not judged:
        return ""
    other = [f"{one.name} {one.noise} {one.metric}" for one in judged if not one.agrees]
    told = f"{len(judged) - len(other)} of {len(judged)} differences to {against} have the paper's sign"
    return told + (f"; not those of {', '.join(other)}" if other else "")
