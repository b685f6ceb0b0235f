"""The classification data set of FiftyOne."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from audit.formats.format_samples import audited_folder

from lond.audit.formats.checked import Checked
from lond.audit.formats.fiftyone import read, write
from lond.errors import DataError


def test_round_trip_keeps_ids_labels_and_pictures(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    write(tmp_path, table, tmp_path / "set")
    assert read(tmp_path) == {name: label or None for name, label in zip(table.id, table.label, strict=True)}
    pictures = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
    assert [path.rpartition(".")[0] for path in pictures] == list(table.id)
    assert all(Path(path).is_file() for path in pictures.values())
    entry = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))["labels"][table.id[20]]
    assert entry["attributes"]["verdict"] == table.verdict[20]
    assert entry["attributes"]["suggested_label"] == table.suggested_label[20]
    assert entry["attributes"]["wrong_score"] == table.wrong_score[20] and entry["confidence"] == table.confidence[20]


def as_fiftyone_imports(folder: Path) -> dict[str, str]:
    """Return picture -> label by the steps of FiftyOne's importer (version 1.22), which has a class for each label."""
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))["labels"]
    data = json.loads((folder / "data.json").read_text(encoding="utf-8"))
    pictures = {os.path.normpath(os.path.splitext(key)[0]): path for key, path in data.items()}
    found = {}
    for key, target in labels.items():
        picture = key if os.path.isabs(key) else pictures[key]
        if target is not None:
            made = dict(label=target["label"], confidence=target.get("confidence"), **target["attributes"])
            assert made.keys().isdisjoint({"id", "tags", "logits"})
            found[picture] = made["label"]
    return found


def test_the_importer_finds_every_picture(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    # Ids that are paths in a long form, absolute ones among them.
    odd = (f"{tmp_path.as_posix()}/set/{table.path[0]}", f".//{table.path[1]}", table.path[1], *table.id[3:])
    table = replace(table, id=(*odd[:3], *table.id[3:]))
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", table, tmp_path / "set")
    expected = {str(tmp_path / "set" / path): label for path, label in zip(table.path, table.label, strict=True)}
    assert as_fiftyone_imports(tmp_path / "out") == {path: label for path, label in expected.items() if label}
    labels = {name: label for name, label in read(tmp_path / "out").items() if label}
    assert labels == {name: label for name, label in zip(table.id, table.label, strict=True) if label}


def test_a_missing_picture_is_named(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set", 20)
    with pytest.raises(DataError, match="images are no files below .* give the audited folder as root"):
        write(tmp_path, table, tmp_path)
    assert not (tmp_path / "labels.json").exists()


def test_ids_come_back_under_other_names(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    entries = {"1": {"label": "cat", "attributes": {"audit_id": "a/1.png"}}, "/set/a/2.png": None}
    path.write_text(json.dumps({"classes": None, "labels": entries}))
    assert read(path) == {"a/1.png": "cat", "/set/a/2.png": None}


def test_what_the_tool_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text(
        json.dumps({"classes": ["cat", "dog"], "labels": {"a": 1, "b": {"label": 0}, "c": None, "d": "eel"}})
    )
    assert read(path) == {"a": "dog", "b": "cat", "c": None, "d": "eel"}
    path.write_text("{}")
    with pytest.raises(DataError, match="it has no labels"):
        read(path)


def sample(path: str, label: str | None, *tags: str, own: tuple[str, ...] = (), **attributes: str) -> dict[str, object]:
    """One sample as FiftyOne (version 1.22) exports it in a ``FiftyOneDataset``."""
    entry = {"_cls": "Classification", "tags": list(own), "label": label, **attributes}
    return {"filepath": f"/set/{path}", "tags": list(tags), "ground_truth": entry if label else None}


def test_samples_with_tags_are_read(tmp_path: Path) -> None:
    wrong = {"verdict": "mislabelled", "suggested_label": "dog"}
    foreign = {"verdict": "foreign", "suggested_label": ""}
    samples = [
        sample("a/0.png", "cat", audit_id="0"),
        sample("a/1.png", "eel", "seen", audit_id="1"),
        sample("a/2.png", "cat", "Foreign", audit_id="2"),
        sample("a/3.png", "cat", own=("accept",), audit_id="3", **wrong),
        sample("a/4.png", "cat", "keep", audit_id="4", **wrong),
        sample("a/5.png", "cat", "accept", audit_id="5", **foreign),
        sample("a/6.png", None),
    ]
    (tmp_path / "samples.json").write_text(json.dumps({"samples": samples}))
    found = read(tmp_path)
    assert found == {"0": "cat", "1": "eel", "2": None, "3": "dog", "4": "cat", "5": None, "/set/a/6.png": None}
    assert [name for name, label in found.items() if isinstance(label, Checked)] == ["3", "4"]


def test_samples_that_say_nothing_clear_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    path.write_text(json.dumps({"samples": [sample("1.png", "cat", "keep", "foreign", audit_id="1")]}))
    with pytest.raises(DataError, match=r"/set/1.png has tags that contradict each other: keep, foreign"):
        read(tmp_path)
    changed = sample("1.png", "dog", "keep", audit_id="1", given_label="cat")
    # FiftyOne writes nothing of a label that is gone, so another sample has to name the field.
    for kept in (changed, sample("1.png", None, "keep")):
        path.write_text(json.dumps({"samples": [kept, sample("2.png", "cat", audit_id="2", given_label="cat")]}))
        with pytest.raises(DataError, match="/set/1.png has the tag keep, but not the label"):
            read(tmp_path)
    path.write_text(json.dumps({"samples": [sample("1.png", "cat")]}))
    with pytest.raises(DataError, match="has no field with labels of an audit"):
        read(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"has no samples.json and no labels.json. Export with"):
        read(tmp_path)
