"""Tables of records: of single runs, of groups, of what differs; as text in several formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lond.io.csv_files import csv_text
from lond.results.differences import differences, short
from lond.results.groups import Group, Summary, field_of
from lond.results.records import Record

FIGURES = ("accuracy", "auroc", "fpr95")
"""Figures that are shown if none are asked for."""

TITLES = {"auroc": "AUROC", "fpr95": "FPR95"}

Kind = Literal["text", "share", "number"]


@dataclass(frozen=True)
class Column:
    """A column by name; shares are shown in percent."""

    name: str
    kind: Kind = "text"

    @property
    def title(self) -> str:
        """The name as a reader wants it."""
        return " ".join(TITLES.get(word, word.replace("_", " ")) for word in self.name.split("."))


class Cell(NamedTuple):
    """A value that is not of its column's kind."""

    value: Any
    kind: Kind


@dataclass(frozen=True)
class Table:
    """Rows of texts, numbers, summaries and ``Cell``s (None: nothing)."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def texts(self) -> list[list[str]]:
        """Return the cells as a reader wants them: shares in percent, "mean ± deviation"."""
        return [[shown(cell, column.kind) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]


def runs_table(records: Sequence[Record], figures: Sequence[str] = FIGURES) -> Table:
    """Return one row a run."""
    heads = ("name", "method", "data", "noise", "scale", "seed", "epochs")
    columns = (*map(Column, heads), *map(figure_column, figures), Column("changes"), Column("finished"))
    rows = []
    for record in records:
        head = (
            record.name,
            record.method,
            record.data,
            record.noise,
            record.scale,
            record.seeds.training,
            record.epochs,
        )
        rows.append((*head, *map(record.value, figures), field_of(record, "changes"), record.finished))
    return Table(columns, tuple(rows))


def groups_table(groups: Sequence[Group], figures: Sequence[str] = FIGURES) -> Table:
    """Return one row a group, each figure as a summary."""
    by = list(groups[0].key) if groups else []
    columns = (*map(Column, by), Column("n"), *map(figure_column, figures))
    rows = tuple((*group.key.values(), group.n, *map(group.summary, figures)) for group in groups)
    return Table(columns, rows)


def differences_table(first: Record, second: Record) -> Table:
    """Return one row a difference: settings, facts, figures.

    Curves and figures of the last epoch alone are left out, and the methods' own settings if the methods differ.
    """
    left_out = ("curve ", "last.") if first.method == second.method else ("curve ", "last.", "settings.")
    rows: list[tuple[Any, ...]] = []
    for entry in differences(first, second):
        if entry.key.startswith(left_out):
            continue
        if entry.kind == "figure":
            kind: Kind = "text" if isinstance(entry.first, int) else figure_column(entry.key).kind
            both = entry.first is not None and entry.second is not None
            change = Cell(entry.second - entry.first, kind) if both else None
            rows.append((entry.kind, entry.key, Cell(entry.first, kind), Cell(entry.second, kind), change))
        else:
            rows.append((entry.kind, entry.key, short(entry.first), short(entry.second), None))
    names = ("what", "key", first.name, second.name, "change")
    return Table(tuple(map(Column, names)), tuple(rows))


def figure_column(figure: str) -> Column:
    """Return the column of a figure; losses, sizes and seconds are not shares."""
    last = figure.rpartition(".")[2]
    return Column(figure, "number" if "loss" in last or last.endswith("_size") or last == "seconds" else "share")


def shown(cell: Any, kind: Kind) -> str:
    """Return a cell as a reader wants it."""
    if isinstance(cell, Cell):
        return shown(*cell)
    if isinstance(cell, Summary):
        deviation = "" if cell.deviation is None else f" ± {shown(cell.deviation, kind)}"
        fewer = f" (n={cell.n})" if cell.lacking and cell.n else ""
        return shown(cell.mean, kind) + deviation + fewer
    if cell is None or cell == "":
        return "–"
    if kind == "share":
        return f"{100 * cell:.2f}"
    return f"{cell:.4g}" if kind == "number" else str(cell)


# Formats


def as_csv(table: Table) -> str:
    """Return raw values, a summary in three columns; shares stay shares."""
    names, rows = list(_raw_names(table)), [_raw_row(table, row) for row in table.rows]
    return csv_text(names, ([row.get(name) for name in names] for row in rows))


def as_json(table: Table) -> str:
    """Return a list of objects with the values of ``as_csv``."""
    return (
        json.dumps([_raw_row(table, row) for row in table.rows], indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def as_markdown(table: Table) -> str:
    """Return a table for Markdown."""
    titles = [column.title for column in table.columns]
    lines = [titles, ["---" if column.kind == "text" else "---:" for column in table.columns], *table.texts()]
    return "".join(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in line)} |\n" for line in lines)


def as_latex(table: Table) -> str:
    """Return a tabular with the rules of booktabs."""
    spec = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    titles, *rows = ([_tex(text) for text in line] for line in [[c.title for c in table.columns], *table.texts()])
    lines = [f"\\begin{{tabular}}{{{spec}}}", "\\toprule", _tex_row(titles), "\\midrule"]
    return "\n".join([*lines, *map(_tex_row, rows), "\\bottomrule", "\\end{tabular}"]) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
    "json": as_json,
}
"""Name -> function that makes the text."""


def _raw_names(table: Table) -> dict[str, None]:
    names: dict[str, None] = {}
    for at, column in enumerate(table.columns):
        summed = any(isinstance(row[at], Summary) for row in table.rows)
        names |= dict.fromkeys([f"{column.name}_{part}" for part in ("mean", "std", "n")] if summed else [column.name])
    return names


def _raw_row(table: Table, row: tuple[Any, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column, cell in zip(table.columns, row, strict=True):
        if isinstance(cell, Summary):
            parts = {"mean": cell.mean, "std": cell.deviation, "n": cell.n}
            values |= {f"{column.name}_{part}": value for part, value in parts.items()}
        else:
            values[column.name] = cell.value if isinstance(cell, Cell) else cell
    return values


TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--"}
"""Characters that LaTeX spells otherwise; others get a backslash."""


def _tex(text: str) -> str:
    return re.sub(r"[\\~^±–&%$#_{}]", lambda found: TEX.get(found.group(), f"\\{found.group()}"), text)


def _tex_row(texts: Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"
