"""An audit as the columns that cleanlab's Datalab and CleanVision give: a flag and a score for each kind of issue."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from lond.audit.table import AuditTable
from lond.io.csv_files import read_rows, write_rows
from lond.types import Verdict

FILE = "datalab.csv"
"""Name of the file in the folder of an export."""

QUALITY = {
    "dark": "dark",
    "bright": "light",
    "blurred": "blurry",
    "uniform": "low_information",
    "odd size": "odd_size",
    "odd shape": "odd_aspect_ratio",
    "grey": "grayscale",
}
"""Oddity of a picture -> name of CleanVision's issue."""

Columns = dict[str, list[Any]]


def datalab_columns(table: AuditTable) -> Columns:
    """Return one list per column, by the names of ``Datalab.get_issues``; scores lie in [0, 1], low is bad.

    ``label_score`` is the confidence of the given label where it is the suggested one, else what the suggested one
    leaves. ``outlier_score`` is the p-value of the foreign score. ``near_duplicate_sets`` holds positions of rows.
    """
    count = len(table)
    confident = zip(table.label, table.suggested_label, table.confidence, strict=True)
    scores = [math.nan if math.isnan(c) else c if given == other else 1 - c for given, other, c in confident]
    groups = copy_groups(table)
    columns: Columns = {
        "id": list(table.id),
        "given_label": list(table.label),
        "predicted_label": list(table.suggested_label),
        "is_label_issue": [verdict == Verdict.MISLABELLED for verdict in table.verdict],
        "label_score": scores,
        "is_outlier_issue": [verdict == Verdict.FOREIGN for verdict in table.verdict],
        "outlier_score": list(table.p_value),
        "is_near_duplicate_issue": [len(groups[row]) > 1 for row in range(count)],
        "near_duplicate_score": [0.0 if len(groups[row]) > 1 else 1.0 for row in range(count)],
        "near_duplicate_sets": [[other for other in groups[row] if other != row] for row in range(count)],
    }
    for ours, theirs in QUALITY.items():
        columns[f"is_{theirs}_issue"] = [ours in names for names in table.quality]
    return columns


def copy_groups(table: AuditTable) -> list[list[int]]:
    """Return for each row the rows of its group of copies, itself among them."""
    place = {name: row for row, name in reversed(list(enumerate(table.id)))}
    root = list(range(len(table)))

    def find(row: int) -> int:
        while root[row] != row:
            row = root[row]
        return row

    for row, name in enumerate(table.duplicate_of):
        if name in place:
            one, other = find(row), find(place[name])
            root[max(one, other)] = min(one, other)
    members: dict[int, list[int]] = {}
    for row in range(len(table)):
        members.setdefault(find(row), []).append(row)
    return [members[find(row)] for row in range(len(table))]


def write(folder: Path, table: AuditTable, root: Path | None = None) -> list[Path]:
    """Write the columns as ``datalab.csv``; missing scores are empty cells, sets are rows with blanks between them."""
    columns = datalab_columns(table)
    numbers = [name for name in columns if name not in ("id", "given_label", "predicted_label")]
    rows = zip(*columns.values(), strict=True)
    write_rows(folder / FILE, list(columns), ([_cell(value) for value in row] for row in rows), as_is=numbers)
    return [folder / FILE]


def read(path: Path) -> dict[str, str | None]:
    """Return id -> given label, which a person may have corrected in the file.

    Raises:
        DataError: the file does not hold the columns.
    """
    rows = read_rows(_file(path), ("id", "given_label"), "a table of Datalab columns")
    return {row["id"]: row["given_label"] for row in rows}


def _file(path: Path) -> Path:
    return path / FILE if path.is_dir() else path


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value
