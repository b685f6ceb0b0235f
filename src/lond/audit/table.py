"""The audit's table: one row an image, written as CSV and Parquet, and read back."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from lond.errors import DataError, MissingDependencyError

TEXTS = ("id", "path", "label", "verdict", "suggested_label", "duplicate_of", "reason")
"""Columns of text; empty where there is nothing to say."""

NUMBERS = ("confidence", "neighbour_margin", "negative_margin", "foreign_score", "p_value")
"""Columns of numbers; NaN (an empty cell) where there is none."""

SEPARATOR = "|"
"""Between the ids of the nearest neighbours in one CSV cell."""


@dataclass(frozen=True)
class AuditTable:
    """What the audit says about N images, in the order of the source; every column has N entries.

    ``verdict`` holds the values of ``lond.types.Verdict``. ``confidence`` is that of the suggested label.
    ``duplicate_of`` is the id of the image that this one repeats, ``neighbours`` the ids of its nearest images.
    """

    id: tuple[str, ...]
    path: tuple[str, ...]
    label: tuple[str, ...]
    verdict: tuple[str, ...]
    suggested_label: tuple[str, ...]
    confidence: tuple[float, ...]
    neighbour_margin: tuple[float, ...]
    negative_margin: tuple[float, ...]
    foreign_score: tuple[float, ...]
    p_value: tuple[float, ...]
    duplicate_of: tuple[str, ...]
    reason: tuple[str, ...]
    neighbours: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Check that all columns have the same length."""
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns differ in length: {lengths}")

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.id)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one dictionary an image."""
        names = [field.name for field in fields(self)]
        for values in zip(*(getattr(self, name) for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def take(self, places: Sequence[int]) -> Self:
        """Return the rows at some places, in that order."""
        return type(self)(
            **{field.name: tuple(getattr(self, field.name)[at] for at in places) for field in fields(self)}
        )


def write_csv(path: Path, table: AuditTable) -> None:
    """Write the table as CSV, atomically; missing numbers are empty cells."""
    names = [field.name for field in fields(table)]
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([_cell(row[name]) for name in names] for row in table.rows())
    temporary.replace(path)


def read_csv(path: Path) -> AuditTable:
    """Read what ``write_csv`` wrote, or what a person made of it; further columns are left out.

    Raises:
        DataError: the file is not an audit's table.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            missing = {"id", "label", "verdict", "suggested_label", "confidence"} - set(reader.fieldnames or ())
            if missing:
                raise DataError(f"{path} is not an audit's table: it has no column {', '.join(sorted(missing))}")
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a table: {error}") from error
    columns: dict[str, Any] = {name: tuple(row.get(name) or "" for row in rows) for name in TEXTS}
    columns |= {name: tuple(_number(row.get(name), path) for row in rows) for name in NUMBERS}
    ids = tuple(tuple(filter(None, (row.get("neighbours") or "").split(SEPARATOR))) for row in rows)
    return AuditTable(**columns, neighbours=ids)


def write_parquet(path: Path, table: AuditTable) -> None:
    """Write the table as Parquet, atomically; neighbours are a list column.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError("Parquet files need pyarrow: pip install 'lond[tables]'") from error
    columns = {name: list(getattr(table, name)) for name in TEXTS}
    columns |= {name: [None if math.isnan(x) else x for x in getattr(table, name)] for name in NUMBERS}
    columns["neighbours"] = [list(ids) for ids in table.neighbours]
    order = [field.name for field in fields(table)]
    temporary = path.with_name(path.name + ".tmp")
    pyarrow.parquet.write_table(pyarrow.table({name: columns[name] for name in order}), temporary)
    temporary.replace(path)


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return SEPARATOR.join(value)
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def _number(text: str | None, path: Path) -> float:
    try:
        return float(text) if text else math.nan
    except ValueError as error:
        raise DataError(f"{path}: {text!r} is not a number") from error
