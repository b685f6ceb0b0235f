"""Tables of records: of single runs, of groups, of what differs; as text in several formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lond.io.csv_files import csv_text
from lond.results.differences import differences, short
from lond.results.groups import Group, Summary
from lond.results.records import Record
from lond.results.rows import to_rows

METRICS = ("accuracy", "auroc", "fpr95")
"""Metrics that are shown if none are asked for."""

LOWER_IS_BETTER = ("fpr95", "fpr95_openood")

TITLES = {
    "auroc": "AUROC",
    "fpr95": "FPR95",
    "verdict_mislabelled_f1": "F1 mislabelled",
    "verdict_foreign_f1": "F1 foreign",
}
"""Name -> title, where a name with spaces in place of underscores would not do."""

NONE = "–"
"""What a table shows where there is nothing."""

ColumnKind = Literal["text", "share", "number", "percent", "points"]
"""How a value is shown: as it is; a share in percent; to four digits; what is in percent already; its differences."""


@dataclass(frozen=True)
class Column:
    """A column by name; shares are shown in percent."""

    name: str
    kind: ColumnKind = "text"

    @property
    def title(self) -> str:
        """The name as a reader wants it."""
        return " ".join(TITLES.get(word, word.replace("_", " ")) for word in self.name.split("."))


class OfKind(NamedTuple):
    """A value that is not of its column's kind."""

    value: Any
    kind: ColumnKind


@dataclass(frozen=True)
class Table:
    """Rows of texts, numbers, summaries and values ``OfKind`` (None: nothing)."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def texts(self) -> list[list[str]]:
        """Return the entries as a reader wants them: shares in percent, "mean ± deviation"."""
        return [
            [shown(entry, column.kind) for entry, column in zip(row, self.columns, strict=True)] for row in self.rows
        ]

    def raw(self) -> list[dict[str, Any]]:
        """Return one object a row: plain values, a summary in three entries; shares stay shares."""
        return [_raw_row(self, row) for row in self.rows]


def runs_table(records: Sequence[Record], metrics: Sequence[str] = METRICS) -> Table:
    """Return one row per run."""
    heads = ("name", "method", "data", "noise", "scale", "seed", "epochs")
    columns = (*map(Column, heads), *map(metric_column, metrics), Column("changes"), Column("finished"))
    return Table(columns, tuple(tuple(row.get(column.name) for column in columns) for row in to_rows(records)))


def groups_table(groups: Sequence[Group], metrics: Sequence[str] = METRICS) -> Table:
    """Return one row a group, each metric as a summary."""
    by = list(groups[0].key) if groups else []
    columns = (*map(Column, by), Column("n"), *map(metric_column, metrics))
    rows = tuple((*group.key.values(), group.n, *map(group.summary, metrics)) for group in groups)
    return Table(columns, rows)


def metrics_table(groups: Sequence[Group], titles: Mapping[str, str]) -> Table:
    """Return one row a metric and one column a group, named by the first field that it is grouped by."""
    names = [next(iter(group.key.values())) for group in groups]
    rows = tuple((title, *(group.summary(metric) for group in groups)) for metric, title in titles.items())
    return Table((Column("metric"), *(Column(name, "share") for name in names)), rows)


def differences_table(first: Record, second: Record) -> Table:
    """Return one row a difference: settings, facts, metrics.

    Curves and values of the last epoch alone are left out, and the methods' own settings if the methods differ.
    """
    left_out = ("curve ", "last.") if first.method == second.method else ("curve ", "last.", "settings.")
    rows: list[tuple[Any, ...]] = []
    for entry in differences(first, second):
        if entry.key.startswith(left_out):
            continue
        if entry.kind == "metric":
            kind: ColumnKind = "text" if isinstance(entry.first, int) else metric_column(entry.key).kind
            both = entry.first is not None and entry.second is not None
            change = OfKind(entry.second - entry.first, kind) if both else None
            rows.append((entry.kind, entry.key, OfKind(entry.first, kind), OfKind(entry.second, kind), change))
        else:
            rows.append((entry.kind, entry.key, short(entry.first), short(entry.second), None))
    names = ("what", "key", first.name, second.name, "change")
    return Table(tuple(map(Column, names)), tuple(rows))


def metric_column(metric: str) -> Column:
    """Return the column of a metric; losses, sizes and seconds are not shares."""
    last = metric.rpartition(".")[2]
    number = "loss" in last or last.endswith("_size") or last.startswith("seconds")
    return Column(metric, "number" if number else "share")


def shown(value: Any, kind: ColumnKind) -> str:
    """Return a value as a reader wants it; of a summary in percent n is always told, else if it is not that of all."""
    if isinstance(value, OfKind):
        return shown(*value)
    if isinstance(value, Summary):
        spread = "percent" if kind == "points" else kind
        deviation = "" if value.deviation is None else f" ± {shown(value.deviation, spread)}"
        told = value.n and (value.lacking or kind in ("percent", "points"))
        return shown(value.mean, kind) + deviation + (f" (n={value.n})" if told else "")
    if value is None or value == "":
        return NONE
    if kind in ("share", "percent"):
        return f"{100 * value if kind == 'share' else value:.2f}"
    return f"{value:+.2f}" if kind == "points" else f"{value:.4g}" if kind == "number" else str(value)


# Formats


def as_csv(table: Table) -> str:
    """Return raw values, a summary in three columns; shares stay shares."""
    names = list(_raw_names(table))
    return csv_text(names, ([row.get(name) for name in names] for row in table.raw()))


def as_json(table: Table) -> str:
    """Return a list of objects with the values of ``as_csv``."""
    return json.dumps(table.raw(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


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
        names |= dict.fromkeys([f"{column.name}_{part}" for part in ("mean", "sd", "n")] if summed else [column.name])
    return names


def _raw_row(table: Table, row: tuple[Any, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column, entry in zip(table.columns, row, strict=True):
        if isinstance(entry, Summary):
            parts = {"mean": entry.mean, "sd": entry.deviation, "n": entry.n}
            values |= {f"{column.name}_{part}": value for part, value in parts.items()}
        else:
            values[column.name] = entry.value if isinstance(entry, OfKind) else entry
    return values


TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--"}
"""Characters that LaTeX spells otherwise; others get a backslash."""


def _tex(text: str) -> str:
    return re.sub(r"[\\~^±–&%$#_{}]", lambda found: TEX.get(found.group(), f"\\{found.group()}"), text)


def _tex_row(texts: Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"
