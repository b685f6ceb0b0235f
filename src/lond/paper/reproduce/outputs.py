"""Our values beside the printed ones, as files and as a table to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lond.io.atomic import write_atomically
from lond.io.json_files import write_json
from lond.paper import TASKS
from lond.paper.reproduce.directions import comparisons_of, directions_table, summary_of
from lond.paper.reproduce.lines import Line, lines_of
from lond.paper.reproduce.scales import SCALES
from lond.results.tables import Column, OfKind, Table, as_csv, as_latex, as_markdown

if TYPE_CHECKING:
    from lond.paper.reproduce.planning import RunPlan
    from lond.results.batch import Outcome

TABLE = "table"
FIELDS = ("row", "method", "detector", "data", "noise", "metric", "reading")


def table_of(lines: Sequence[Line]) -> Table:
    """Return three rows a contender: our row, the paper's and, where it means something, their difference."""
    places = list(dict.fromkeys((line.data, line.noise, line.metric) for line in lines))
    columns = tuple(Column(".".join(filter(None, place))) for place in places)
    rows: list[tuple[Any, ...]] = []
    for row, reading in dict.fromkeys((line.row, line.reading) for line in lines):
        own = {
            (line.data, line.noise, line.metric): line for line in lines if (line.row, line.reading) == (row, reading)
        }
        name = next(iter(own.values())).name
        found = [own.get(place) for place in places]
        rows.append((name, "here", *(OfKind(line and line.summary, "percent") for line in found)))
        if any(line and line.published is not None for line in found):
            rows.append((name, "paper", *(OfKind(line and line.published, "percent") for line in found)))
        if any(line and line.delta is not None for line in found):
            rows.append((name, "here - paper", *(OfKind(line and line.delta, "points") for line in found)))
    return Table((Column("row"), Column("whose"), *columns), tuple(rows))


def lines_table(plan: RunPlan, lines: Sequence[Line]) -> Table:
    """Return one row a value, in percent: ours over the seeds, the printed one, and their difference."""
    names = ("experiment", "scale", *FIELDS, "n", "mean", "sd", "published", "delta")
    rows = []
    for line in lines:
        place, ours = [getattr(line, name) for name in FIELDS], line.summary
        values = (ours.n, ours.mean, ours.deviation, line.published, line.delta)
        rows.append((plan.experiment.name, plan.scale, *place, *values))
    return Table(tuple(map(Column, names)), tuple(rows))


def tasks_table() -> Table:
    """Return table 5, which holds no values."""
    titles = ("task", "closed-set noise in training", "open-set noise in training", "open-set images in test")
    rows = [(t.name, t.closed_in_training, t.open_in_training, t.open_in_test) for t in TASKS]
    texts = tuple(tuple(("no", "yes")[cell] if isinstance(cell, bool) else cell for cell in row) for row in rows)
    return Table(tuple(map(Column, titles)), texts)


def heading(plan: RunPlan) -> str:
    """Return what the table is about, and how large the runs were."""
    if not plan.experiment.cells:
        return f"{plan.experiment.name}: {plan.experiment.title}"
    return f"{plan.experiment.name}: {plan.experiment.title}. In percent; scale {plan.scale}: {SCALES[plan.scale]}"


def notes_of(plan: RunPlan, outcome: Outcome) -> list[str]:
    """Return what a reader must know besides: comparability, failures, cells left out, what the paper leaves open."""
    notes, cells = [], plan.experiment.cells
    if plan.scale != "full" and cells:
        notes.append(f"the paper's figures are of full scale; differences to them measure scale {plan.scale} as well")
    if 0 < len(plan.cells) < len(cells):
        notes.append(f"{len(plan.cells)} of the {len(cells)} cells; the others were not asked for or are left out")
    notes += [f"problem: {run.name}, seed {run.seed}: {text}" for run, text in outcome.problems.items()]
    notes += outcome.notes
    notes += left_out_notes(plan)
    compared = comparisons_of(plan.experiment.name, lines_of(plan, outcome)) if plan.scale != "smoke" else {}
    notes += filter(None, (summary_of(directions, against) for against, directions in compared.items()))
    return notes + [f"on the paper: {remark}" for remark in plan.experiment.remarks]


def left_out_notes(plan: RunPlan) -> list[str]:
    """Return what is left out, by reason."""
    by_reason: dict[str, list[str]] = {}
    for cell, reason in plan.left_out.items():
        by_reason.setdefault(reason, []).append(" ".join(filter(None, (cell.row, cell.data, cell.noise))))
    return [f"left out: {', '.join(dict.fromkeys(names))}: {reason}" for reason, names in by_reason.items()]


def write_tables(plan: RunPlan, outcome: Outcome, lines: Sequence[Line], folder: Path) -> list[Path]:
    """Write the table as Markdown, LaTeX, CSV and JSON, and return the paths; CSV and JSON are in percent, too."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{TABLE}.{suffix}" for suffix in ("md", "tex", "csv", "json")]
    table, notes = table_of(lines) if plan.experiment.cells else tasks_table(), notes_of(plan, outcome)
    compared = list(comparisons_of(plan.experiment.name, lines).values())
    tables = "\n".join(as_markdown(one) for one in (table, *map(directions_table, compared)))
    text = [f"**{heading(plan)}**\n\n", tables, "\n", *(f"- {note}\n" for note in notes)]
    write_atomically(paths[0], "".join(text))
    comments = "".join(f"% {' '.join(note.split())}\n" for note in (heading(plan), *notes))
    write_atomically(paths[1], comments + as_latex(table))
    raw = lines_table(plan, lines)
    write_atomically(paths[2], as_csv(raw))
    content = {
        "experiment": plan.experiment.name,
        "title": plan.experiment.title,
        "scale": plan.scale,
        "seeds": plan.seeds,
        "unit": "percent",
        "lines": [row | {"values": line.values} for row, line in zip(raw.raw(), lines, strict=True)],
        "directions": [asdict(direction) | {"agrees": direction.agrees} for one in compared for direction in one],
        "notes": notes,
    }
    write_json(paths[3], content)
    return paths
