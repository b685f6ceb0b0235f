"""The audit's table: one row per image, written as CSV and Parquet, and read back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any, Self, overload

from lond.data.options import optional_import
from lond.errors import DataError, counted
from lond.io.atomic import write_atomically
from lond.io.csv_files import join_texts, printable, read_rows, split_texts, write_rows
from lond.types import Verdict

TEXTS = ("id", "path", "label", "verdict", "suggested_label", "duplicate_of", "reason", "copy", "decided", "copy_group")
"""Columns of text; empty where there is nothing to say."""

NUMBERS = (
    *("confidence", "neighbour_margin", "negative_margin"),
    *("wrong_score", "foreign_score", "p_value", "wrong_if_known"),
)
"""Columns of numbers; NaN (an empty cell) where there is none. Only audits of version 0.1 have p-values."""

LISTS = ("neighbours", "quality")
"""Columns of several texts each."""

LATER = ("copy", "quality", "wrong_score", "decided", "copy_group", "wrong_if_known")
"""Columns that tables of older versions lack; empty there."""

NEEDED = ("id", "label", "verdict", "suggested_label", "confidence")
"""Columns without which a CSV file is not an audit's table."""

SEEN_IN_PART = "seen in part"

HARD_TO_SEE = frozenset({"dark", "bright", "blurred", "uniform", SEEN_IN_PART})
"""Words of ``quality`` for pictures whose features cannot be trusted: so little is or was to see that they may look
foreign for that alone."""

WHAT = "an audit's table"

PART_ROWS = 100_000
"""Rows of each file of a table in parts."""

SHOWN = 8
"""Rows that a table shows of itself."""

_PART = "part-"

_PYARROW = "Parquet files need pyarrow: pip install 'lond[tables]'"


@dataclass(frozen=True, repr=False)
class AuditTable:
    """Table of verdicts on N images, in the order of the source; every column has N entries.

    ``verdict`` holds the values of ``lond.types.Verdict``. ``confidence`` is how likely what it says is right: that the
    image is foreign, that its label is right, or that the suggested one is. ``wrong_score`` is how likely the label is
    wrong though the image is of a known class, ``foreign_score`` how likely it is of none. ``wrong_if_known`` is how
    likely the label is wrong if the image is of a known class, ``wrong_score / (1 - foreign_score)``: images called
    foreign aside, a label is called wrong where it exceeds the summary's ``wrong_threshold``.
    ``duplicate_of`` is the id of the image that this one repeats, ``neighbours`` the ids of its nearest images.
    All images that repeat each other have the same ``copy_group``, a number from "1" on; "" for images without copies.
    ``copy`` says how it repeats that image, "exact" or "near". ``quality`` names what is odd about the picture itself,
    such as "dark" or "blurred"; it says nothing about the label. ``decided`` is what a person had decided before this
    look ("accept", "keep", ...), "" for nothing; the verdict follows it. Columns with a default may be left out.
    ``table[0]`` is a row as a dictionary, ``table[:10]`` the table of the first ten.

    Examples:
        >>> import numpy as np
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> labels = np.arange(40) % 2
        >>> labels[0] = 1  # a label error
        >>> table = audit((points, labels), settings=AuditSettings(map="none")).table
        >>> table.id[0], table.label[0], table.verdict[0], table.suggested_label[0]
        ('0', '1', 'mislabelled', '0')
        >>> table[0]["verdict"], len(table[:10])
        ('mislabelled', 10)
    """

    id: tuple[str, ...]
    path: tuple[str, ...]
    label: tuple[str, ...]
    verdict: tuple[str, ...]
    suggested_label: tuple[str, ...]
    confidence: tuple[float, ...]
    neighbour_margin: tuple[float, ...]
    negative_margin: tuple[float, ...]
    wrong_score: tuple[float, ...]
    foreign_score: tuple[float, ...]
    p_value: tuple[float, ...]
    duplicate_of: tuple[str, ...]
    reason: tuple[str, ...]
    neighbours: tuple[tuple[str, ...], ...]
    copy: tuple[str, ...] = ()
    quality: tuple[tuple[str, ...], ...] = ()
    decided: tuple[str, ...] = ()
    copy_group: tuple[str, ...] = ()
    wrong_if_known: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check that all columns have the same length; fill those that were left out."""
        empty: dict[str, object] = {
            "copy": "",
            "decided": "",
            "copy_group": "",
            "quality": (),
            "wrong_if_known": math.nan,
        }
        for name, value in empty.items():
            if not getattr(self, name):
                object.__setattr__(self, name, (value,) * len(self.id))
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns differ in length: {lengths}")

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.id)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> Self: ...

    def __getitem__(self, at: int | slice) -> dict[str, Any] | Self:
        """Return one row as a dictionary, or the table of the rows of a slice.

        Raises:
            IndexError: there is no such row.
        """
        cut = {field.name: getattr(self, field.name)[at] for field in fields(self)}
        return type(self)(**cut) if isinstance(at, slice) else cut

    def __repr__(self) -> str:
        """Return the first rows in short, and how to get the others."""
        lines = [f"{self.id[at]}: {self._told(at)}" for at in range(min(SHOWN, len(self)))]
        more = [f"... and {counted(len(self) - SHOWN, 'more row')}"] if len(self) > SHOWN else []
        head = f"AuditTable of {counted(len(self), 'row')}; "
        head += ".to_pandas() gives a data frame, .id, .verdict, ... the columns"
        # Control characters of a hostile name could do harm in a terminal.
        safe = ("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line) for line in lines)
        return "\n  ".join([head, *safe, *more])

    def _told(self, at: int) -> str:
        """Return label, verdict, suggestion and confidence of a row as a few words."""
        other = self.suggested_label[at]
        arrow = f" -> {other}" if other and other != self.label[at] else ""
        sure = "" if math.isnan(self.confidence[at]) else f", {100 * self.confidence[at]:.0f} %"
        return f"{self.label[at] or '(no label)'}{arrow}, {self.verdict[at]}{sure}"

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        pandas = optional_import("pandas", "data frames need pandas: pip install pandas")
        return pandas.DataFrame({column.name: list(getattr(self, column.name)) for column in fields(self)})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one dictionary an image."""
        names = [field.name for field in fields(self)]
        for values in zip(*(getattr(self, name) for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def between(self, start: int, stop: int) -> Self:
        """Return the rows from ``start`` on, before ``stop``."""
        return self[start:stop]

    def take(self, places: Sequence[int]) -> Self:
        """Return the rows at some places, in that order."""
        return type(self)(
            **{field.name: tuple(getattr(self, field.name)[at] for at in places) for field in fields(self)}
        )


def write_csv(path: Path, table: AuditTable) -> None:
    r"""Write the table as CSV, atomically.

    Missing numbers are empty cells, others have six digits. Text that a spreadsheet would run as a formula gets an
    apostrophe in front, ``|`` and ``\`` in a neighbour's id a backslash, and bytes that are not UTF-8 become
    ``\udcXX``; ``read_csv`` undoes the first two.
    """
    names = [field.name for field in fields(table)]
    write_rows(path, names, ([_cell(row[name]) for name in names] for row in table.rows()), NUMBERS)


def read_csv(path: Path) -> AuditTable:
    """Read what ``write_csv`` wrote, or what a person made of it; further columns are left out.

    Raises:
        DataError: the file is not an audit's table.
    """
    rows = list(read_rows(path, NEEDED, WHAT))
    columns: dict[str, Any] = {name: tuple(row.get(name, "") for row in rows) for name in TEXTS}
    columns |= {name: tuple(_number(row.get(name, ""), path) for row in rows) for name in NUMBERS}
    columns |= {name: tuple(split_texts(row.get(name, "")) for row in rows) for name in LISTS}
    return _checked(AuditTable(**columns), path)


def write_parquet(path: Path, table: AuditTable) -> None:
    r"""Write the table as Parquet, atomically; bytes that are not UTF-8 become ``\udcXX``.

    Neighbours and quality are list columns.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    arrow = optional_import("pyarrow", _PYARROW)
    parquet = optional_import("pyarrow.parquet", _PYARROW)
    columns: dict[str, Any] = {name: [printable(text) for text in getattr(table, name)] for name in TEXTS}
    columns |= {name: [None if math.isnan(x) else x for x in getattr(table, name)] for name in NUMBERS}
    columns |= {name: [[printable(text) for text in texts] for texts in getattr(table, name)] for name in LISTS}
    kinds = dict.fromkeys(TEXTS, arrow.string()) | dict.fromkeys(NUMBERS, arrow.float64())
    kinds |= dict.fromkeys(LISTS, arrow.list_(arrow.string()))
    # Without the types, a column without a single value would be stored as one of nothing.
    schema = arrow.schema([(field.name, kinds[field.name]) for field in fields(table)])
    write_atomically(path, lambda place: parquet.write_table(arrow.table(columns, schema=schema), place))


def read_parquet(path: Path) -> AuditTable:
    """Read what ``write_parquet`` wrote; further columns are left out.

    Raises:
        DataError: the file is not an audit's table.
        MissingDependencyError: pyarrow is not installed.
    """
    arrow = optional_import("pyarrow", _PYARROW)
    parquet = optional_import("pyarrow.parquet", _PYARROW)
    try:
        found = parquet.ParquetFile(path).read()
    except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
        told = " ".join(str(error).split())[:200]
        raise DataError(f"{path} cannot be read as a Parquet table: {told}; give {WHAT}") from error
    repeated = [name for name in NEEDED if found.column_names.count(name) > 1]
    if repeated:
        raise DataError(f"{path} has more than one column called {', '.join(repeated)}; keep one of each")
    names = [field.name for field in fields(AuditTable)]
    missing = [name for name in names if name not in (*found.column_names, *LATER)]
    if missing:
        raise DataError(f"{path} is not {WHAT}: it has no column {', '.join(missing)}")
    try:
        lists = {name: found.column(name).to_pylist() for name in found.column_names}
        lists = {field.name: lists.get(field.name, [None] * len(found)) for field in fields(AuditTable)}
        columns: dict[str, Any] = {name: tuple(str(text or "") for text in lists[name]) for name in TEXTS}
        columns |= {name: tuple(math.nan if x is None else float(x) for x in lists[name]) for name in NUMBERS}
        columns |= {name: tuple(tuple(str(text) for text in texts or ()) for texts in lists[name]) for name in LISTS}
    except (arrow.ArrowException, LookupError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path} is not {WHAT}: a column has the wrong type ({error})") from error
    return _checked(AuditTable(**columns), path)


def write_parts(folder: Path, table: AuditTable) -> None:
    """Write a large table as Parquet files of ``PART_ROWS`` rows each; those of an earlier table are removed.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    optional_import("pyarrow", _PYARROW)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{_PART}*.parquet"):
        old.unlink()
    starts = range(0, len(table), PART_ROWS)
    for number, start in enumerate(starts, 1):
        name = f"{_PART}{number:05}-of-{len(starts):05}.parquet"
        write_parquet(folder / name, table.between(start, start + PART_ROWS))


def read_parts(folder: Path) -> AuditTable:
    """Read what ``write_parts`` wrote.

    Raises:
        DataError: parts are missing, or one of them is not of an audit's table.
        MissingDependencyError: pyarrow is not installed.
    """
    paths = sorted(folder.glob(f"{_PART}*-of-*.parquet"))
    expected = int(paths[-1].stem.rpartition("-")[2]) if paths and paths[-1].stem[-5:].isdigit() else 0
    if not paths:
        raise DataError(f"{folder} holds no audit; give the folder that `lond audit SOURCE --out FOLDER` wrote")
    if len(paths) != expected:
        held = f"it holds {len(paths)} of {expected} parts"
        raise DataError(f"{folder} cannot be read as {WHAT}: {held}; audit the images again")
    parts = [read_parquet(path) for path in paths]
    names = [field.name for field in fields(AuditTable)]
    return AuditTable(**{name: tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in names})


def read_audit(path: Path) -> AuditTable:
    """Read an audit's table: a folder of parts, a ``.parquet`` file, or otherwise CSV.

    Raises:
        DataError: the file is not an audit's table.
        MissingDependencyError: Parquet without pyarrow.

    Examples:
        >>> import numpy as np
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="pca"))
        >>> _ = found.save("audit")
        >>> read_audit(Path("audit/audit.csv")).verdict == found.table.verdict
        True
    """
    if path.is_dir():
        return read_parts(path)
    return read_parquet(path) if path.suffix.lower() == ".parquet" else read_csv(path)


def _checked(table: AuditTable, path: Path) -> AuditTable:
    known = {str(verdict) for verdict in Verdict}
    unknown = next((text for text in table.verdict if text not in known), None)
    if unknown is not None:
        raise DataError(f"{path}: {unknown!r} is not a verdict; it must be one of {', '.join(sorted(known))}")
    return table


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return join_texts(value) if isinstance(value, tuple) else str(value)


def _number(text: str, path: Path) -> float:
    try:
        # A spreadsheet in another language writes 0,5; a thousands separator is never written.
        return float(text.strip().replace(",", ".")) if text.strip() else math.nan
    except ValueError as error:
        raise DataError(f"{path}: {text!r} is not a number") from error
