"""An audit as a FiftyOne image classification data set: labels with attributes, beside a list of the pictures.

FiftyOne reads it by ``fiftyone.Dataset.from_dir(dataset_dir=folder, data_path="data.json",
dataset_type=fiftyone.types.FiftyOneImageClassificationDataset)``; the pictures stay where they are.
"""

from __future__ import annotations

import math
import posixpath
from pathlib import Path
from typing import Any

from lond.audit.formats.files import picture_files, picture_path
from lond.audit.table import AuditTable
from lond.errors import DataError
from lond.io.csv_files import printable
from lond.io.json_files import read_json, write_json

TEXTS = ("verdict", "suggested_label", "duplicate_of", "copy", "copy_group", "decided")
"""Columns of text that become attributes."""

LABELS, PICTURES = "labels.json", "data.json"

ID = "audit_id"
"""Attribute that holds the id of an image; FiftyOne exports its pictures under names of its own."""

_ENDING = ".picture"


def write(folder: Path, table: AuditTable, root: Path | None = None) -> list[Path]:
    """Write ``labels.json`` and ``data.json``; unreadable images and images without a label are unlabelled there.

    Args:
        folder: where.
        table: the audit's table.
        root: folder that the paths of the table are relative to; the current one if None.

    Raises:
        DataError: a picture is missing.
    """
    picture_files(table, root)
    keys = _keys(table)
    labels = {key: _label(row) for key, row in zip(keys, table.rows(), strict=True)}
    # FiftyOne takes the last ending off the keys of the pictures, and of these alone.
    pictures = {key + _ENDING: picture_path(path, root) for key, path in zip(keys, table.path, strict=True)}
    write_json(folder / LABELS, {"labels": labels})
    write_json(folder / PICTURES, pictures)
    return [folder / LABELS, folder / PICTURES]


def read(path: Path) -> dict[str, str | None]:
    """Return id, or path where FiftyOne tells no id, -> label of such a data set; None for images without a label.

    Raises:
        DataError: the file does not hold the labels of a classification data set.
    """
    file = path / LABELS if path.is_dir() else path
    content = read_json(file)
    entries, classes = content.get("labels"), content.get("classes")
    if not isinstance(entries, dict):
        raise DataError(f"{file} is no FiftyOne classification data set: it has no labels")
    return {_id(entry) or key: _name(entry, classes) for key, entry in entries.items()}


def _keys(table: AuditTable) -> list[str]:
    """Return the ids as FiftyOne reads keys, as paths in short form; absolute ones would name pictures themselves."""
    keys: dict[str, int] = {}
    for row, name in enumerate(table.id):
        key = posixpath.normpath(printable(name)).lstrip("/")
        keys[f"{key}#{row}" if key in keys else key] = row
    return list(keys)


def _label(row: dict[str, Any]) -> dict[str, Any] | None:
    if not row["label"]:
        return None
    sure = {} if math.isnan(row["confidence"]) else {"confidence": row["confidence"]}
    names = ("wrong_score", "foreign_score", "p_value")
    numbers = {name: row[name] for name in names if not math.isnan(row[name])}
    texts = {name: printable(row[name]) for name in TEXTS}
    told = {ID: printable(row["id"])} | texts | {"quality": ", ".join(row["quality"])} | numbers
    return {"label": printable(row["label"])} | sure | {"attributes": told}


def _id(entry: Any) -> str | None:
    attributes = entry.get("attributes") if isinstance(entry, dict) else None
    name = attributes.get(ID) if isinstance(attributes, dict) else None
    return name if isinstance(name, str) and name else None


def _name(entry: Any, classes: Any) -> str | None:
    value = entry.get("label") if isinstance(entry, dict) else entry
    if isinstance(value, int) and isinstance(classes, list):
        value = classes[value]
    return None if value is None else str(value)
