"""The classification data set of FiftyOne."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit.formats.format_samples import audited_folder

from lond.audit.formats.fiftyone import read, write
from lond.errors import DataError


def test_round_trip_keeps_ids_labels_and_pictures(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    write(tmp_path, table, tmp_path / "set")
    assert read(tmp_path) == {name: label or None for name, label in zip(table.id, table.label, strict=True)}
    pictures = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
    assert list(pictures) == list(table.id) and all(Path(path).is_file() for path in pictures.values())
    entry = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))["labels"][table.id[20]]
    assert entry["attributes"]["verdict"] == table.verdict[20]
    assert entry["attributes"]["suggested_label"] == table.suggested_label[20]


def test_what_the_tool_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text(
        json.dumps({"classes": ["cat", "dog"], "labels": {"a": 1, "b": {"label": 0}, "c": None, "d": "eel"}})
    )
    assert read(path) == {"a": "dog", "b": "cat", "c": None, "d": "eel"}
    path.write_text("{}")
    with pytest.raises(DataError, match="it has no labels"):
        read(path)
