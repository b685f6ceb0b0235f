"""An audit as a FiftyOne image classification data set: labels with attributes, beside a list of the pictures.

FiftyOne reads it by ``fiftyone.Dataset.from_dir(dataset_dir=folder, data_path="data.json",
dataset_type=fiftyone.types.FiftyOneImageClassificationDataset)``; the pictures stay where they are.
"""

from __future__ import annotations

import math
import posixpath
from pathlib import Path
from typing import Any

from lond.audit.correct.decisions import Choice
from lond.audit.formats.checked import Checked
from lond.audit.formats.files import picture_files, picture_path
from lond.audit.table import AuditTable
from lond.errors import DataError
from lond.io.csv_files import printable
from lond.io.json_files import read_json, write_json
from lond.types import Verdict

TEXTS = ("verdict", "suggested_label", "duplicate_of", "copy", "copy_group", "decided")
"""Columns of text that become attributes."""

LABELS, PICTURES, SAMPLES = "labels.json", "data.json", "samples.json"

TAGS = (Choice.ACCEPT, Choice.KEEP, Choice.FOREIGN)
"""Decisions that a tag of an image or of its label makes."""

USE = (
    'load: fiftyone.Dataset.from_dir(dataset_dir="FOLDER", data_path="data.json", '
    "dataset_type=fiftyone.types.FiftyOneImageClassificationDataset); change labels, or tag images "
    f"{', '.join(TAGS[:-1])} or {TAGS[-1]}; then "
    'dataset.export("EXPORT", dataset_type=fiftyone.types.FiftyOneDataset, export_media=False)'
)
"""What to do with an export."""

ID = "audit_id"
"""Attribute that holds the id of an image; FiftyOne exports its pictures under names of its own."""

GIVEN = "given_label"
"""Attribute that holds the label as it was exported, whatever becomes of it."""

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

    A ``FiftyOneDataset``, which holds tags too, is read as well: the tags ``accept``, ``keep`` and ``foreign`` decide.

    Raises:
        DataError: the file holds neither a classification data set nor the samples of an audit, or tags contradict.
    """
    file = _file(path)
    content = read_json(file)
    if isinstance(content.get("samples"), list):
        return _of_samples(content["samples"], file)
    entries, classes = content.get("labels"), content.get("classes")
    if not isinstance(entries, dict):
        raise DataError(f"{file} is no FiftyOne classification data set: it has no labels")
    return {_id(entry) or key: _name(entry, classes) for key, entry in entries.items()}


def _file(path: Path) -> Path:
    """Return the file of labels or samples in a folder.

    Raises:
        DataError: there is none.
    """
    if not path.is_dir():
        return path
    for name in (LABELS, SAMPLES):
        if (path / name).is_file():
            return path / name
    raise DataError(
        f"{path} is no export of FiftyOne with labels: it has no {SAMPLES} and no {LABELS}. Export with "
        "dataset_type=fiftyone.types.FiftyOneDataset, export_media=False"
    )


def _of_samples(samples: list[Any], file: Path) -> dict[str, str | None]:
    """Return id or path -> label of samples as FiftyOne keeps them, with what their tags decide."""
    samples = [sample for sample in samples if isinstance(sample, dict)]
    fields = {name for sample in samples for name, value in sample.items() if isinstance(value, dict) and ID in value}
    if len(fields) != 1:
        many = f"several fields: {', '.join(sorted(fields))}" if fields else "no field"
        raise DataError(f"{file} has {many} with labels of an audit, which have the attribute {ID}")
    (field,) = fields
    found = {}
    for sample in samples:
        label = sample.get(field)
        label = label if isinstance(label, dict) else {}
        found[str(label.get(ID) or sample.get("filepath"))] = _decided(sample, label)
    return found


def _decided(sample: dict[str, Any], label: dict[str, Any]) -> str | None:
    """Return the label of one sample, by its tags where they decide."""
    name = _name(label, None)
    words = {str(tag).strip().lower() for tag in [*(sample.get("tags") or ()), *(label.get("tags") or ())]}
    tags = [tag for tag in TAGS if tag in words]
    if len(tags) > 1:
        raise DataError(f"{sample.get('filepath')} has tags that contradict each other: {', '.join(tags)}")
    if tags == [Choice.KEEP] and (name is None or name != label.get(GIVEN, name)):
        raise DataError(f"{sample.get('filepath')} has the tag keep, but not the label that it was exported with")
    if not tags or name is None:
        return name
    verdict, suggested = label.get("verdict"), label.get("suggested_label")
    if tags == [Choice.FOREIGN] or (tags == [Choice.ACCEPT] and verdict == Verdict.FOREIGN):
        return None
    accepts = tags == [Choice.ACCEPT] and verdict != Verdict.CLEAN and suggested
    return Checked(suggested if accepts else name)


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
    told = (
        {ID: printable(row["id"]), GIVEN: printable(row["label"])}
        | texts
        | {"quality": ", ".join(row["quality"])}
        | numbers
    )
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
