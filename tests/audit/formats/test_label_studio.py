"""Tasks for Label Studio, and annotations back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from audit.formats.format_samples import audited_folder

from lond.audit.formats.label_studio import FOREIGN_CHOICE, LOCAL_FILES, configuration, read, write
from lond.errors import DataError


def annotated(tasks: list[dict[str, Any]], choices: dict[str, str]) -> list[dict[str, Any]]:
    """Return what Label Studio exports after someone chose."""
    done = []
    for task in tasks:
        result = [{"type": "choices", "value": {"choices": [choices.get(task["data"]["id"], "")]}}]
        old = {"result": [{"type": "choices", "value": {"choices": ["old"]}}]}
        cancelled = {"was_cancelled": True, "result": []}
        annotations = [old, {"result": result}, cancelled] if task["data"]["id"] in choices else []
        done.append(task | {"annotations": annotations})
    return done


def test_round_trip_keeps_ids_and_labels(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    write(tmp_path, table)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert [task["data"]["id"] for task in tasks] == list(table.id)
    assert [task["data"]["label"] for task in tasks] == list(table.label)
    paths = [unquote(task["data"]["image"].removeprefix(LOCAL_FILES)) for task in tasks]
    assert paths == list(table.path)
    chosen = dict(zip(table.id[:20], table.label[:20], strict=True)) | {table.id[0]: FOREIGN_CHOICE}
    (tmp_path / "export.json").write_text(json.dumps(annotated(tasks, chosen)))
    assert read(tmp_path / "export.json") == chosen | {table.id[0]: None}
    assert read(tmp_path) == {}


def test_suggestions_are_predictions(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    write(tmp_path, table)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    for task, verdict, suggested in zip(tasks, table.verdict, table.suggested_label, strict=True):
        wanted = FOREIGN_CHOICE if verdict == "foreign" else suggested or task["data"]["label"]
        shown = [part["result"][0]["value"]["choices"] for part in task.get("predictions", ())]
        assert shown == ([[wanted]] if wanted else [])


def test_predictions_have_scores(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    foreign = table.verdict.index("foreign")
    table = replace(table, p_value=(math.nan,) * len(table))
    write(tmp_path, table)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert tasks[foreign]["predictions"][0]["score"] == table.confidence[foreign]


def test_the_configuration_offers_every_class() -> None:
    names = ["cat", '"quoted" <tag> & more']
    choices = ElementTree.fromstring(configuration(names)).findall("./Choices/Choice")
    assert [choice.get("value") for choice in choices] == names


@pytest.mark.parametrize("content", ["{", "[{}]", "3", '[{"data": {"id": "a"}, "annotations": [{}]}]'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DataError, match="no JSON export of Label Studio"):
        read(tmp_path / "x.json")


def test_the_short_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([{"image": "a", "id": 7, "label": "cat", "annotation_id": 3}]))
    with pytest.raises(DataError, match="JSON-MIN, which loses ids; export as JSON instead"):
        read(tmp_path / "x.json")


def test_decisions_are_annotations_and_come_back(tmp_path: Path) -> None:
    table = audited_folder(tmp_path / "set")
    foreign = table.verdict.index("foreign")
    sure = next(at for at, name in enumerate(table.suggested_label) if name and at != foreign)
    other = next(at for at, name in enumerate(table.suggested_label) if name and at not in (foreign, sure))
    words = {foreign: "foreign", sure: "accept", other: "reject"}
    verdicts = tuple("unreadable" if at == len(table) - 1 else verdict for at, verdict in enumerate(table.verdict))
    table = replace(table, decided=tuple(words.get(at, "") for at in range(len(table))), verdict=verdicts)
    write(tmp_path, table)
    tasks = {task["data"]["id"]: task for task in json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))}
    assert list(tasks) == [name for name, verdict in zip(table.id, verdicts, strict=True) if verdict != "unreadable"]
    assert [name for name, task in tasks.items() if "annotations" in task] == sorted(
        (table.id[foreign], table.id[sure]), key=table.id.index
    )
    assert "predictions" not in tasks[table.id[sure]] and "predictions" in tasks[table.id[other]]
    assert read(tmp_path) == {table.id[foreign]: None, table.id[sure]: table.suggested_label[sure]}
