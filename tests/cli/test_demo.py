"""`lond demo`: what it asks for and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lond.results import Group, Record, Seeds
from lond.results.compare import Comparison

Call = Callable[..., tuple[int, str, str]]


def record(method: str, accuracy: float) -> Record:
    return Record(method, "v", method, "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": accuracy})


def test_methods_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lond: Call) -> None:
    asked: list[object] = []

    def run_demo(*arguments: object) -> Comparison:
        asked.extend(arguments)
        methods = {"standard": 0.5, "lond-drs": 0.75}
        groups = tuple(Group({"method": name}, (record(name, value),)) for name, value in methods.items())
        return Comparison("Digits", groups, {})

    monkeypatch.setattr("lond.demo.run_demo", run_demo)
    code, out, err = lond("demo", "--out", tmp_path, "--seeds", "3,1", "--threads", 2)
    assert (code, err) == (0, "")
    assert asked[:3] == [tmp_path, [3, 1], 2]
    (line,) = (line for line in out.splitlines() if "accuracy on known digits" in line)
    assert [cell.strip() for cell in line.split("│")[1:-1]][1:] == ["50.00", "75.00"]
    assert "Means of 2 training seeds." in out
    assert f"report: {tmp_path / 'report.html'}" in out


def test_seeds_are_checked_before_any_work(monkeypatch: pytest.MonkeyPatch, lond: Call) -> None:
    monkeypatch.setattr("lond.demo.run_demo", lambda *_: pytest.fail("trained"))
    code, _, err = lond("demo", "--seeds", "one")
    assert (code, "--seeds needs whole numbers" in err) == (2, True)
