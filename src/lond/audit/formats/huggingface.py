"""An audit as a folder that Hugging Face ``datasets`` loads and the hub takes: pictures beside a table of metadata."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

from lond.audit.formats.files import picture_files
from lond.audit.table import AuditTable
from lond.errors import DataError
from lond.io.atomic import write_atomically
from lond.io.csv_files import printable

TEXTS = ("id", "label", "verdict", "suggested_label", "copy", "copy_group", "decided")
"""Columns of text of the metadata."""

CARD, METADATA, PICTURES = "README.md", "metadata.jsonl", "train"

_CARD = """---
task_categories:
- image-classification
configs:
- config_name: default
  data_files:
  - split: train
    path: train/**
---

# Images with an audit of their labels

`label` is the given label. `verdict`, `suggested_label`, `confidence`, `wrong_score`, `foreign_score`, `copy`,
`copy_group` and `quality` are what an audit says about it; `id` names the image in the audit's table. Where `decided`
is not empty, a person decided, and `verdict` and `suggested_label` follow that decision.
"""


def write(folder: Path, table: AuditTable, root: Path | None = None) -> list[Path]:
    """Write a card, and the readable pictures with ``metadata.jsonl`` below ``train``.

    ``datasets.load_dataset("imagefolder", data_dir=folder)`` loads it, ``hf upload`` puts it on the hub. Pictures get
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
    write_atomically(folder / CARD, _CARD)
    return [folder / CARD, pictures / METADATA]


def read(path: Path) -> dict[str, str | None]:
    """Return id -> label from the metadata of such a folder.

    Raises:
        DataError: the folder holds no such metadata.
    """
    file = path / PICTURES / METADATA if path.is_dir() else path
    try:
        entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
        return {entry["id"]: entry["label"] for entry in entries}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{file} is no metadata of an exported audit: {error!r}") from error


def _entry(name: str, row: dict[str, Any]) -> dict[str, Any]:
    texts = {key: printable(row[key]) for key in TEXTS}
    names = ("confidence", "wrong_score", "foreign_score")
    numbers = {key: None if math.isnan(row[key]) else row[key] for key in names}
    return {"file_name": name} | texts | numbers | {"quality": ", ".join(row["quality"])}
