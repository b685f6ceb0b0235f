"""An audit as a FiftyOne image classification data set: labels with attributes, beside a list of the pictures.

FiftyOne reads it by ``fiftyone.Dataset.from_dir(dataset_dir=folder, data_path="data.json",
dataset_type=fiftyone.types.FiftyOneImageClassificationDataset)``; the pictures stay where they are.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from lond.audit.formats.files import picture_path
from lond.audit.table import AuditTable
from lond.errors import DataError
from lond.io.csv_files import printable
from lond.io.json_files import read_json, write_json

LABELS, PICTURES = "labels.json", "data.json"


def write(folder: Path, table: AuditTable, root: Path | None = None) -> list[Path]:
    """Write ``labels.json`` and ``data.json``; unreadable images and images without a label are unlabelled there.

    Args:
        folder: where.
        table: the audit's table.
        root: folder that the paths of the table are relative to; the current one if None.
    """
    labels = {printable(row["id"]): _label(row) for row in table.rows()}
    pictures = {printable(name): picture_path(path, root) for name, path in zip(table.id, table.path, strict=True)}
    write_json(folder / LABELS, {"labels": labels})
    write_json(folder / PICTURES, pictures)
    return [folder / LABELS, folder / PICTURES]


def read(path: Path) -> dict[str, str | None]:
    """Return id -> label of such a data set, also as FiftyOne writes it; None for images without a label.

    Raises:
        DataError: the file does not hold the labels of a classification data set.
    """
    file = path / LABELS if path.is_dir() else path
    content = read_json(file)
    entries, classes = content.get("labels"), content.get("classes")
    if not isinstance(entries, dict):
        raise DataError(f"{file} is no FiftyOne classification data set: it has no labels")
    return {name: _name(entry, classes) for name, entry in entries.items()}


def _label(row: dict[str, Any]) -> dict[str, Any] | None:
    if not row["label"]:
        return None
    numbers = {name: row[name] for name in ("confidence", "foreign_score", "p_value") if not math.isnan(row[name])}
    texts = {name: printable(row[name]) for name in ("verdict", "suggested_label", "duplicate_of", "copy")}
    quality = ", ".join(row["quality"])
    return {"label": printable(row["label"]), "attributes": texts | {"quality": quality} | numbers}


def _name(entry: Any, classes: Any) -> str | None:
    value = entry.get("label") if isinstance(entry, dict) else entry
    if isinstance(value, int) and isinstance(classes, list):
        value = classes[value]
    return None if value is None else str(value)
