"""The log."""

from __future__ import annotations

import json
import math
from pathlib import Path

from lond.train.log import JsonLines


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
