"""An audit as a folder that Hugging Face ``datasets`` loads and the hub takes: pictures beside a table of metadata."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

from lond.audit.formats.files import picture_files
from lond.audit.table import AuditTable
from lond.data.options import optional_import
from lond.errors import DataError
from lond.io.atomic import write_atomically
from lond.io.csv_files import printable

TEXTS = ("id", "label", "verdict", "suggested_label", "copy", "copy_group", "decided")
"""Columns of text of the metadata."""

NUMBERS = ("confidence", "wrong_score", "foreign_score")
"""Columns of numbers of the metadata."""

COLUMNS = (
    "label holds the given label, suggested_label the label that the audit suggests or a person decided, and verdict "
    'what is wrong; load_dataset("FOLDER") reads label as a ClassLabel, load_dataset("imagefolder", ...) as text'
)
"""Which column holds which label, for a person who exports."""

CARD, METADATA, PICTURES = "README.md", "metadata.jsonl", "train"

SAVED = ("dataset_info.json", "dataset_dict.json")
"""Files of which one stands in the folder of ``save_to_disk``."""

_NEEDS = "data sets of Hugging Face need: pip install 'lond[hf]'"

_CARD = """---
task_categories:
- image-classification
configs:
- config_name: default
  data_files:
  - split: train
    path: train/**
  features:
{features}
---

# Images with an audit of their labels

`label` is the given label, empty for images without one.
`verdict`, `suggested_label`, `confidence`, `wrong_score`, `foreign_score`, `copy`,
`copy_group` and `quality` are what an audit says about it; `id` names the image in the audit's table. Where `decided`
is not empty, a person decided, and `verdict` and `suggested_label` follow that decision.
"""


def write(folder: Path, table: AuditTable, root: Path | None = None) -> list[Path]:
    """Write a card, and the readable pictures with ``metadata.jsonl`` below ``train``.

    ``datasets.load_dataset(folder)`` loads it, with the given label as a ``ClassLabel``; ``hf upload`` puts it on the
    hub. With ``load_dataset("imagefolder", data_dir=folder)`` the card is not read, and labels are text. Pictures get
    numbers for names, since those of an unknown set may be unfit for either.

    Raises:
        DataError: a picture is missing; ``root`` is the audited folder.
    """
    files = picture_files(table, root)
    pictures = folder / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (row, source) in enumerate(zip(table.rows(), files, strict=True)):
        if not source:
            continue
        name = f"{number:07d}{Path(source).suffix.lower()}"
        shutil.copyfile(source, pictures / name)
        lines.append(json.dumps(_entry(name, row), ensure_ascii=False))
    write_atomically(pictures / METADATA, "".join(f"{line}\n" for line in lines))
    write_atomically(folder / CARD, _CARD.format(features=_features(table)))
    return [folder / CARD, pictures / METADATA]


def read(path: Path) -> dict[str, str | None]:
    """Return id -> label from such a folder, or from what ``datasets`` saves of it.

    That is a folder of ``save_to_disk``, or a file of ``to_parquet`` or ``to_json``; the last holds numbers for labels
    unless they were turned into names.

    Raises:
        DataError: the labels or ids are missing, or labels are numbers without names.
        MissingDependencyError: something saved by ``datasets``, which is not installed.
    """
    if path.is_dir() and any((path / name).is_file() for name in SAVED):
        return _of_library(path, "load_from_disk")
    if path.suffix.lower() == ".parquet":
        return _of_library(path, "parquet")
    file = path / PICTURES / METADATA if path.is_dir() else path
    try:
        entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
        labels = {entry["id"]: entry["label"] for entry in entries}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{file} is no metadata of an exported audit: {str(error)[:200]}") from error
    if any(isinstance(label, int) for label in labels.values()):
        raise DataError(
            f"{file} has numbers for labels; write the names of the classes, as ClassLabel.int2str gives them, or save "
            "the set with save_to_disk or to_parquet, which keep the names"
        )
    return labels


def _of_library(path: Path, kind: str) -> dict[str, str | None]:
    """Return id -> label of a set, or of all splits of one, that ``datasets`` saved."""
    datasets = optional_import("datasets", _NEEDS)
    try:
        if kind == "parquet":
            # Read in place: the library's own way copies the file into its cache.
            arrow = optional_import("pyarrow.parquet", _NEEDS)
            table = arrow.read_table(path)
            loaded = datasets.Dataset(table)
        else:
            loaded = datasets.load_from_disk(str(path))
        parts = list(loaded.values()) if hasattr(loaded, "values") else [loaded]
        labels: dict[str, str | None] = {}
        for part in parts:
            names = getattr(part.features["label"], "names", None)
            for name, label in zip(part["id"], part["label"], strict=True):
                labels[str(name)] = names[label] if names and isinstance(label, int) else label
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
        raise DataError(f"{path} is no saved set with the columns id and label: {str(error)[:200]}") from error
    if any(isinstance(label, int) for label in labels.values()):
        raise DataError(f"{path} has numbers for labels and no names for them")
    return labels


def _entry(name: str, row: dict[str, Any]) -> dict[str, Any]:
    texts = {key: printable(row[key]) for key in TEXTS}
    numbers = {key: None if math.isnan(row[key]) else row[key] for key in NUMBERS}
    # An empty text is no class, and the library would refuse it.
    label = {"label": texts["label"] or None}
    return {"file_name": name} | texts | label | numbers | {"quality": ", ".join(row["quality"])}


def _features(table: AuditTable) -> str:
    """Return the types of all columns as YAML."""
    kinds = {"image": "image"} | dict.fromkeys(TEXTS, "string") | dict.fromkeys(NUMBERS, "float64")
    lines = []
    for name, kind in {**kinds, "quality": "string"}.items():
        lines += [f"  - name: {name}", f"    dtype: {kind}"]
        if name == "label":
            names = sorted({printable(label) for label in table.label} - {""})
            lines[-1] = "    dtype:"
            lines += ["      class_label:", "        names:"]
            lines += [f'          "{at}": {_quoted(label)}' for at, label in enumerate(names)]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return a text in the double quotes of YAML."""
    signs = (sign if sign.isprintable() and sign not in '"\\' else f"\\U{ord(sign):08x}" for sign in text)
    return f'"{"".join(signs)}"'
