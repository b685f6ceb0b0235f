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

    ``label_score`` is the chance that the label is not wrong, ``outlier_score`` that the image is not foreign.
    ``near_duplicate_sets`` holds positions of rows.
    """
    count = len(table)
    groups = copy_groups(table)
    columns: Columns = {
        "id": list(table.id),
        "given_label": list(table.label),
        "predicted_label": list(table.suggested_label),
        "is_label_issue": [verdict == Verdict.MISLABELLED for verdict in table.verdict],
        "label_score": _label_scores(table),
        "is_outlier_issue": [verdict == Verdict.FOREIGN for verdict in table.verdict],
        "outlier_score": _outlier_scores(table),
        "is_near_duplicate_issue": [len(groups[row]) > 1 for row in range(count)],
        "near_duplicate_score": [0.0 if len(groups[row]) > 1 else 1.0 for row in range(count)],
        "near_duplicate_sets": [[other for other in groups[row] if other != row] for row in range(count)],
    }
    for ours, theirs in QUALITY.items():
        columns[f"is_{theirs}_issue"] = [ours in names for names in table.quality]
    return columns


def _label_scores(table: AuditTable) -> list[float]:
    """Return one minus the chance of a wrong label; older audits tell how sure the suggestion is instead."""
    scores = []
    for given, suggested, sure, wrong in zip(
        table.label, table.suggested_label, table.confidence, table.wrong_score, strict=True
    ):
        older = sure if given == suggested else 1 - sure
        scores.append(math.nan if not given else older if math.isnan(wrong) else 1 - wrong)
    return scores


def _outlier_scores(table: AuditTable) -> list[float]:
    """Return one minus the chance to be foreign; older audits tell a p-value instead."""
    rows = zip(table.foreign_score, table.p_value, strict=True)
    return [1 - foreign if math.isnan(p_value) else p_value for foreign, p_value in rows]


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
