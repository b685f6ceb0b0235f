"""`lond demo`: what it asks for and what it prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lond.results import Group, Record, Seeds
from lond.results.compare import Comparison
from lond.types import Verdict

Call = Callable[..., tuple[int, str, str]]


def record(method: str, accuracy: float) -> Record:
    return Record(method, "v", method, "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": accuracy})


def test_methods_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lond: Call) -> None:
    asked: list[object] = []

    def run_demo(*arguments: object, **_: object) -> Comparison:
        asked.extend(arguments)
        methods = {"standard": 0.5, "lond-drs": 0.75}
        groups = tuple(Group({"method": name}, (record(name, value),)) for name, value in methods.items())
        return Comparison("Digits", groups, {})

    def audit_demo(*arguments: object, **_: object) -> tuple[None, Counter[tuple[Verdict, Verdict]]]:
        asked.extend(arguments)
        wrong = Verdict.MISLABELLED
        return None, Counter({(wrong, wrong): 41, (wrong, Verdict.CLEAN): 7, (Verdict.CLEAN, Verdict.CLEAN): 53})

    monkeypatch.setattr("lond.demo.run_demo", run_demo)
    monkeypatch.setattr("lond.demo.audit_demo", audit_demo)
    code, out, err = lond("demo", "--out", tmp_path, "--seeds", "3,1", "--threads", 2)
    assert (code, err) == (0, "")
    assert asked[:3] == [tmp_path, [3, 1], 2]
    assert asked[-2:] == [tmp_path, 2]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines()]
    assert ["clean", "53", "0"] in rows
    assert ["mislabelled", "7", "41"] in rows
    (line,) = (line for line in out.splitlines() if "accuracy on known digits" in line)
    assert [cell.strip() for cell in line.split("│")[1:-1]][1:] == ["50.00", "75.00"]
    assert "Means of 2 training seeds." in out
    assert out.endswith(f"report: {tmp_path / 'report.html'}\nreview page: {tmp_path / 'audit' / 'audit.html'}\n")


def test_seeds_are_checked_before_any_work(monkeypatch: pytest.MonkeyPatch, lond: Call) -> None:
    monkeypatch.setattr("lond.demo.run_demo", lambda *_, **__: pytest.fail("trained"))
    code, _, err = lond("demo", "--seeds", "one")
    assert (code, "--seeds needs whole numbers" in err) == (2, True)
