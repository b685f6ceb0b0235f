"""One table or figure of the paper on one scale, as stored runs show it: a block of Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lond.paper import DATA_SETS, MEAN, SWEEPS, Cell, Experiment, Sweep, panels, published_of
from lond.paper.cells import ABLATION
from lond.paper.names import PRINTED_NOISE
from lond.paper.reproduce.directions import comparisons_of, directions_table, summary_of
from lond.paper.reproduce.filters import other_noises, under_noise
from lond.paper.reproduce.lines import Line, cell_lines, score_of, with_averages
from lond.paper.reproduce.outputs import table_of
from lond.paper.reproduce.scales import COMPARABLE, SCALES, why_left_out
from lond.results.groups import Summary
from lond.results.records import PaperScale, Record
from lond.results.tables import TITLES, Column, Table, as_markdown, shown
from tools.reproduced.commands import commands_of
from tools.reproduced.facts import data_table, facts_of
from tools.reproduced.ranking import ranked_table, same_order
from tools.reproduced.stored import CellRuns, found_of, shared_draws

NAMES = PRINTED_NOISE | TITLES
TO_COMPARE = 2
"""Rows that a comparison among our own runs needs."""


@dataclass(frozen=True)
class Stored:
    """What a store holds of an experiment on a scale."""

    experiment: Experiment
    scale: PaperScale
    found: Mapping[Cell, CellRuns] = field(hash=False)
    aside: frozenset[str] = frozenset()
    """Names of runs that fit a cell but for their data."""

    @property
    def records(self) -> list[Record]:
        """Every run once, by name."""
        by_name = {record.name: record for one in self.found.values() for record in one.runs.values()}
        return [by_name[name] for name in sorted(by_name)]

    @property
    def others(self) -> list[str]:
        """Names of runs that were left out for their data."""
        return sorted(self.aside - {record.name for record in self.records})

    @property
    def lines(self) -> list[Line]:
        """All values, then the averages that the paper prints besides."""
        comparable = self.scale in COMPARABLE
        lines = [line for cell, one in self.found.items() for line in cell_lines(cell, one.runs, comparable)]
        return with_averages(lines, self.experiment.name)

    @property
    def aurocs(self) -> dict[tuple[str, str], dict[str, Summary]]:
        """(data set, noise) -> contender -> AUROC of its own score in percent, where test images are foreign."""
        found: dict[tuple[str, str], dict[str, Summary]] = {}
        for cell, one in self.found.items():
            if not cell.detector:
                (line,) = cell_lines(replace(cell, metrics=("auroc",)), one.runs, False)
                if line.values:
                    found.setdefault((cell.data, cell.noise), {})[cell.row] = line.summary
        return found


def stored_of(experiment: Experiment, scale: PaperScale, records: Sequence[Record]) -> Stored:
    """Return the runs of an experiment, also under noises that the paper does not print it for."""
    own = [record for record in records if record.scale == scale]
    # A map is drawn for the noise of the paper; under another one there is nothing to show.
    moved = [cell for cell in experiment.cells if cell.metrics]
    cells = [*experiment.cells, *(cell for noise in other_noises(moved) for cell in under_noise(moved, noise))]
    runnable = [cell for cell in cells if own and not why_left_out(cell, scale)]
    drawn = shared_draws(runnable, scale, own)
    held = {cell: found_of(cell, scale, own, drawn) for cell in runnable}
    found = {cell: one for cell, one in held.items() if _shows(cell, one)}
    aside = frozenset(record.name for one in held.values() for record in one.others)
    return Stored(experiment, scale, {cell: one for cell, one in found.items() if _is_comparison(cell, found)}, aside)


def _is_comparison(cell: Cell, found: Collection[Cell]) -> bool:
    """Tell whether a cell stands beside something: a printed value, or other runs that differ in what is studied."""
    if published_of(cell):
        return True
    beside = [other for other in found if (other.data, other.noise) == (cell.data, cell.noise)]
    studied = cell.experiment.startswith("figure") and bool(cell.metrics)
    return len({(other.row, other.reading) for other in beside}) >= TO_COMPARE and (
        not studied or any(other.overrides for other in beside)
    )


def _shows(cell: Cell, found: CellRuns) -> bool:
    """Tell whether runs have something to show for a cell: a value, or a map that is drawn from them."""
    return bool(found.runs) and (not cell.metrics or any(line.values for line in cell_lines(cell, found.runs, False)))


def block_of(stored: Stored, pictures: Sequence[str]) -> str:
    """Return the Markdown of a block; "" if there is nothing to show.

    Args:
        stored: runs of an experiment on a scale.
        pictures: paths, relative to the page, of what was drawn from them.
    """
    parts = list(_figures(stored))
    if not stored.records or not (parts or pictures):
        return ""
    experiment, scale = stored.experiment, stored.scale
    drawn = [
        f"![{experiment.name}, {scale}: {path.rpartition('/')[2].removesuffix('.png')}]({path})\n" for path in pictures
    ]
    seeds = {cell: tuple(one.runs) for cell, one in stored.found.items()}
    known = [cell for cell in experiment.cells if not why_left_out(cell, scale)]
    commands = "\n".join(commands_of(experiment, scale, seeds, known))
    facts = [*facts_of(stored.records), *_expected(experiment), *(f"on the paper: {one}" for one in experiment.remarks)]
    facts += _earlier(stored)
    if stored.others:
        facts.append(f"left out because settings or data differ: {', '.join(stored.others)}")
    return "\n".join([
        f"## {_title(experiment)}, {scale}\n",
        f"Scale {scale}: {SCALES[scale]}.{' In percent.' if parts else ''}\n",
        *parts,
        *drawn,
        f"```bash\n{commands}\n```\n",
        "".join(f"- {fact}\n" for fact in facts),
        as_markdown(data_table(stored.records)),
    ])  # fmt: skip


def _earlier(stored: Stored) -> list[str]:
    """Return which contenders were run with settings of version 0.1.0 and not with today's yet."""
    by_settings: dict[tuple[str, ...], dict[str, None]] = {}
    for cell, one in stored.found.items():
        if one.earlier:
            by_settings.setdefault(one.earlier, {})[cell.row] = None
    return [
        f"run with the settings of version 0.1.0 ({', '.join(settings)}) and not repeated yet: {', '.join(rows)}"
        for settings, rows in by_settings.items()
    ]


def _title(experiment: Experiment) -> str:
    kind = "table" if experiment.name.startswith("table") else "figure"
    return f"{kind.capitalize()} {experiment.name.removeprefix(kind)}: {experiment.title}"


def _figures(stored: Stored) -> Iterator[str]:
    name, lines = stored.experiment.name, stored.lines
    sweeps = [sweep for sweep in SWEEPS if sweep.experiment == name]
    if sweeps:
        for sweep in sweeps:
            yield from _sweep(sweep, lines)
    elif name == "table4":
        yield from _ablation(lines)
    elif name.startswith("figure"):
        if lines:
            yield as_markdown(table_of(lines))
    else:
        yield from _ranked(lines, stored.aurocs)


def _ranked(lines: Sequence[Line], aurocs: Mapping[tuple[str, str], Mapping[str, Summary]]) -> Iterator[str]:
    """Yield a table a data set, noise and metric, with the contenders in order."""
    for data, noise, metric in dict.fromkeys((line.data, line.noise, line.metric) for line in lines):
        own = [line for line in lines if (line.data, line.noise, line.metric) == (data, noise, metric)]
        if not any(line.values for line in own):
            continue
        place = " ".join(filter(None, (_data(data), _noise(noise), NAMES.get(metric, metric))))
        same, pairs = same_order(own)
        order = f" {same} of {pairs} pairs of contenders have the same order as in the paper." if pairs else ""
        yield f"**{place}.**{order}\n"
        yield as_markdown(ranked_table(own, aurocs.get((data, noise)) if metric == "accuracy" else None))


def _data(name: str) -> str:
    return "mean over data sets," if name == MEAN else f"{DATA_SETS[name].printed},"


def _noise(name: str) -> str:
    return "mean over noises," if name == MEAN else f"{NAMES[name]}," if name else ""


def _ablation(lines: Sequence[Line]) -> Iterator[str]:
    if not lines:
        return
    rows = list(ABLATION)
    lines = sorted(lines, key=lambda line: rows.index(line.row))
    yield as_markdown(table_of(lines))
    for against, directions in comparisons_of("table4", lines).items():
        told = summary_of(directions, against).partition(";")[0]
        yield f"{told or f'Differences to {against}'}.\n"
        yield as_markdown(directions_table(directions))


def _sweep(sweep: Sweep, lines: Sequence[Line]) -> Iterator[str]:
    """Yield the mean of accuracy and AUROC by value and noise, with the best value here and the recommended one."""
    rows_of = {value: f"{sweep.symbol}={value:g}" for value in sweep.values}
    noises = [*dict.fromkeys((*sweep.noises, *(line.noise for line in lines if line.noise != MEAN))), MEAN]
    scores = {noise: {value: score_of(lines, row, noise) for value, row in rows_of.items()} for noise in noises}
    held = {noise: own for noise, own in scores.items() if sum(bool(score.n) for score in own.values()) >= TO_COMPARE}
    if not held:
        return
    columns = (Column(sweep.symbol), *(Column(NAMES.get(noise, "mean of the noises")) for noise in held))
    rows = [(f"{value:g}", *(shown(own[value], "percent") for own in held.values())) for value in sweep.values]
    recommended = dict(zip(sweep.noises, sweep.chosen, strict=True))
    best: dict[str, tuple[str, ...]] = {
        "best here": tuple(f"{max(own, key=lambda value: own[value].mean or 0.0):g}" for own in held.values()),
        "recommended": tuple(f"{recommended[noise]:g}" if noise in recommended else "–" for noise in held),
    }
    yield f"**{sweep.symbol}**, mean of accuracy and AUROC.\n"
    yield as_markdown(Table(columns, (*rows, *((name, *values) for name, values in best.items()))))


def _expected(experiment: Experiment) -> list[str]:
    """Return what the paper says is to be seen."""
    shown = panels(experiment.name)
    return [
        f"the paper on {' '.join(filter(None, (one.part, 'of' if one.part else '', one.experiment)))}: {one.expected}"
        for one in shown
        if one.expected
    ]
