"""The log and small JSON files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from lond.train.log import JsonLines, plain, write_json


def test_plain_values() -> None:
    value = {1: (math.nan, [math.inf, 2.5]), "p": Path("a/b"), "n": None, "b": True, "t": "ü"}
    assert plain(value) == {"1": [None, [None, 2.5]], "p": "a/b", "n": None, "b": True, "t": "ü"}


def test_json_is_strict_and_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_json(path, {"a": math.nan, "name": "Blaumeise ü"})
    text = path.read_text(encoding="utf-8")
    assert "NaN" not in text
    assert "ü" in text
    assert json.loads(text) == {"a": None, "name": "Blaumeise ü"}
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert json.loads(path.read_text(encoding="utf-8"))["name"] == "Blaumeise ü"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.json"]


def test_lines_are_added_and_cut_back(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    for epoch in range(4):
        log.append({"epoch": epoch, "loss": math.nan if epoch == 3 else 0.5, "text": "two\nlines"})
    lines = log.path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1, 2, 3]
    assert json.loads(lines[3])["loss"] is None
    log.restart([{"epoch": 0}])
    log.append({"epoch": 1})
    assert log.path.read_text(encoding="utf-8") == '{"epoch": 0}\n{"epoch": 1}\n'
    log.restart([])
    assert log.path.read_text(encoding="utf-8") == ""


def test_a_line_cut_by_a_crash_does_not_survive_a_restart(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    log.append({"epoch": 0})
    with log.path.open("a") as file:
        file.write('{"epoch": 1, "lo')
    log.restart([{"epoch": 0}])
    log.append({"epoch": 1})
    assert [json.loads(line)["epoch"] for line in log.path.read_text().splitlines()] == [0, 1]
