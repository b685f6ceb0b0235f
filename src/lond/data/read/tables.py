"""CSV and Parquet tables of paths and labels as Samples."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from lond.data.options import DEFAULTS, ReadOptions, is_training, optional_import, split_names
from lond.data.read.files import check_files, lies_outside, open_files, relative_name, with_odd_bytes
from lond.data.read.labels import Names, class_names_of, encode, read_names
from lond.errors import DataError
from lond.io.csv_files import undo_neutralise
from lond.types import Problem, Samples

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")

CORRECTED = ("id", "path", "label", "given_label", "action", "reason")
"""Columns of a table that ``lond apply`` wrote: in it, text is safe in a spreadsheet, and is undone on reading."""

CONFIRMED = "confirmed"
"""One more column of such a table: "yes" where a person gave or confirmed the label."""

_PYARROW = "Parquet tables need pyarrow: pip install 'lond[tables]'"

TableColumns = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class _Row:
    number: int
    path: str
    id: str


def _read_csv(path: Path) -> TableColumns:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        header = text.partition("\n")[0]
        delimiter = max((",", ";", "\t"), key=header.count)
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from error
    except csv.Error as error:
        raise DataError(f"{path} is not a readable table: {error}") from error
    rows = [row for row in rows if row]
    if not rows:
        raise DataError(f"{path} is empty; its first line must name the columns")
    names = [name.strip() for name in rows[0]]
    _refuse_repeated(names, path)
    read = undo_neutralise if set(CORRECTED) <= set(names) else str
    return {name: [read(row[at]) if at < len(row) else None for row in rows[1:]] for at, name in enumerate(names)}


def read_parquet_columns(path: Path) -> TableColumns:
    """Return the columns of a Parquet file by name.

    Raises:
        DataError: the file is malformed.
        MissingDependencyError: pyarrow is not installed.
    """
    arrow = optional_import("pyarrow", _PYARROW)
    parquet = optional_import("pyarrow.parquet", _PYARROW)
    try:
        table = parquet.ParquetFile(path).read()
        columns = [column.to_pylist() for column in table.columns]
    except (arrow.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"{path} is not a readable Parquet file: {' '.join(str(error).split())[:200]}") from error
    _refuse_repeated(table.column_names, path)
    return dict(zip(table.column_names, columns, strict=True))


def _refuse_repeated(names: Sequence[str], path: Path) -> None:
    """Check that a table names each column once.

    Raises:
        DataError: it does not; nobody could say which one is meant.
    """
    repeated = sorted({name for name in names if names.count(name) > 1 and name})
    if repeated:
        raise DataError(
            f"{path} has more than one column called {', '.join(map(repr, repeated[:5]))}; keep one of each"
        )


def read_columns(path: str | Path) -> TableColumns:
    """Return the columns of a CSV (comma, semicolon or tab) or Parquet file by name.

    Raises:
        DataError: the file is missing or malformed.
        MissingDependencyError: Parquet without pyarrow.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no table {path}")
    return read_parquet_columns(path) if path.suffix.lower() == ".parquet" else _read_csv(path)


def table_has_split(path: str | Path, split: str, options: ReadOptions = DEFAULTS) -> bool:
    """Tell whether a table's split column names ``split``; without one, all rows are for training."""
    column = read_columns(path).get(options.split_column)
    if column is None:
        return is_training(split)
    return bool(_rows_of_split(column, split))


def _rows_of_split(column: Sequence[object], split: str) -> list[int]:
    names = split_names(split)
    return [row for row, value in enumerate(column) if str(value or "").strip().lower() in names]


def _chosen_rows(path: Path, columns: TableColumns, split: str, options: ReadOptions) -> list[int]:
    if options.path_column not in columns:
        found = ", ".join(repr(name) for name in columns)
        raise DataError(
            f"{path} has no column {options.path_column!r}; it has {found}; rename one, or set data.read.path_column"
        )
    count = len(columns[options.path_column])
    splits = columns.get(options.split_column)
    rows = list(range(count)) if splits is None else _rows_of_split(splits, split)
    if not rows:
        which = "" if splits is None else f" whose {options.split_column} is {split!r}"
        raise DataError(f"{path} has no rows{which}")
    return rows


def _locate(value: object, root: Path) -> Path | None:
    """Return the file that a cell names, also if blanks were added, or it was written with backslashes."""
    whole = "" if value is None else str(value)
    text = whole.strip()
    candidates = dict.fromkeys((whole, text, text.replace("\\", "/"), with_odd_bytes(whole))) if text else {}
    try:
        return next((root / name for name in candidates if (root / name).is_file()), None)
    except (OSError, ValueError):
        # A name too long for the file system, or one with a null byte.
        return None


def _row_id(own_id: object, path: Path | None, cell: object, root: Path) -> str:
    if own_id is not None and str(own_id) != "":
        return str(own_id)
    if path is None:
        return str(cell or "")
    # Whatever folder the command was given from, a file elsewhere is called as in the table.
    return relative_name(str(cell).strip(), None) if lies_outside(path, root) else relative_name(path, root)


def _present(
    columns: TableColumns, rows: Sequence[int], root: Path, options: ReadOptions
) -> tuple[list[_Row], list[Problem]]:
    kept: list[_Row] = []
    problems = []
    seen: set[str] = set()
    for number in rows:
        cell = columns[options.path_column][number]
        path = _locate(cell, root)
        own_id = columns[options.id_column][number] if options.id_column in columns else None
        row_id = _row_id(own_id, path, cell, root) or f"row {number}"
        row_id = f"{row_id}#{number}" if row_id in seen else row_id
        seen.add(row_id)
        if path is None:
            problems.append(Problem(row_id, f"no such file: {str(cell)[:200]!r}" if cell else "no path"))
        else:
            kept.append(_Row(number, str(path), row_id))
    return kept, problems


def _labels(path: Path, columns: TableColumns, rows: Sequence[_Row], column: str, *, needed: bool) -> Names | None:
    if column not in columns:
        if needed:
            found = ", ".join(repr(name) for name in columns)
            raise DataError(f"{path} has no column {column!r}; it has {found}")
        return None
    try:
        return read_names([columns[column][row.number] for row in rows])
    except DataError as error:
        raise DataError(f"{path}, column {column!r}: {error}") from error


def read_table(
    path: str | Path,
    split: str = "train",
    options: ReadOptions = DEFAULTS,
    class_names: Sequence[str] | None = None,
) -> Samples:
    """Return the images that a table lists, by the columns named in ``options``.

    Paths are relative to ``options.root`` or the table's folder. Rows whose file is missing are listed in
    ``problems``. With ``class_names`` the label column may be absent, and other names become ``FOREIGN``.

    Raises:
        DataError: a column is missing, or no row is usable.
        MissingDependencyError: Parquet without pyarrow.
    """
    path = Path(path)
    root = Path(options.root) if options.root is not None else path.parent
    return samples_of_table(path, read_columns(path), root, split, options, class_names)


def samples_of_table(
    path: Path,
    columns: TableColumns,
    root: Path,
    split: str,
    options: ReadOptions,
    class_names: Sequence[str] | None,
) -> Samples:
    """Return the images that the columns of a table list; ``path`` names the table in messages.

    Raises:
        DataError: a column is missing, or no row is usable.
    """
    rows, problems = _present(columns, _chosen_rows(path, columns, split, options), root, options)
    if rows and options.verify:
        files = [row.path for row in rows]
        bad = check_files(files, num_workers=options.num_workers, max_pixels=options.max_pixels)
        problems += [Problem(rows[index].id, reason) for index, reason in bad.items()]
        rows = [row for index, row in enumerate(rows) if index not in bad]
    if not rows:
        raise DataError(
            f"{path}: none of its image files can be used; the first: {problems[0].id[:80]!r}: {problems[0].reason}"
        )
    given = _labels(path, columns, rows, options.label_column, needed=class_names is None)
    given = given or Names((None,) * len(rows), numeric=False)
    names = class_names_of(given) if class_names is None else tuple(class_names)
    true = _labels(path, columns, rows, options.true_label_column, needed=False)
    return Samples(
        open_files([row.path for row in rows], root, options),
        encode(given, names, foreign_allowed=class_names is not None or not is_training(split)),
        names,
        tuple(row.id for row in rows),
        None if true is None else encode(true, names, foreign_allowed=True),
        origin=str(path),
        problems=tuple(problems),
        confirmed=_confirmed(columns, rows),
    )


def _confirmed(columns: TableColumns, rows: Sequence[_Row]) -> Tensor | None:
    """Return which labels a person gave or confirmed, in a table that ``lond apply`` wrote; None if there are none."""
    if not {*CORRECTED, CONFIRMED} <= set(columns):
        return None
    found = torch.tensor([str(columns[CONFIRMED][row.number] or "").strip().lower() == "yes" for row in rows])
    return found if found.any() else None
