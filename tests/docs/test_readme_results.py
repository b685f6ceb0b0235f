"""The figures of the README are those of the stored results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lond.io.json_files import read_json_lines

ROOT = Path(__file__).parents[2]
LINES = [line for line in read_json_lines(ROOT / "results/noise_bench/cells.jsonl") if line["part"] == "judge"]
OTHERS = ("simifeat", "selfclean", "neighbours", "out-of-fold")
ROWS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "people": lambda line: line["family"] == "people",
    "chance": lambda line: line["family"] == "uniform",
    "confusion of similar classes": lambda line: line["family"] in ("pair", "superclass"),
    "a weak model": lambda line: line["family"] == "weak",
}


def mean(who: str, column: str, belongs: Callable[[dict[str, Any]], bool]) -> float:
    found = [line.get(column) for line in LINES if line["contender"] == who and belongs(line)]
    there = [value for value in found if value is not None]
    return round(100 * sum(there) / len(there), 1) if there else 0.0


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_means_of_what_is_stored(name: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("**", "")
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {name} | ")]
    belongs = ROWS[name]
    count = sum(line["contender"] == "audit" and belongs(line) for line in LINES)
    columns = ("wrong_auroc", "foreign_auroc")
    wanted = [mean(who, column, belongs) for who in ("audit", "cleanlab") for column in columns]
    wanted += [max(mean(who, column, belongs) for who in OTHERS) for column in columns]
    assert [float(number) for number in re.findall(r"\d+(?:\.\d+)?", row)] == [count, *wanted]
