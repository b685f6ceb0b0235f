"""The table of processes: made of the stored result, and as the page shows it."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.processes import COUNTS, differing, table, with_table

ROOT = Path(__file__).parents[2]


def result() -> dict[str, object]:
    rows = {
        str(count): {
            "losses": [2.0, 1.0 + count / 1e5],
            "selected": {"clean": 3},
            "selections_that_differ": count,
            "verdicts_that_differ": 0,
            "largest_weight_difference": 2e-6,
        }
        for count in COUNTS
    }
    return {"cells": [{"method": "standard", "input": "images", "processes": rows}]}


def test_rows() -> None:
    row = table(result()).splitlines()[-1]
    assert row == "| `standard` | images | 1.00001, 1.00002, 1.00004 | 2 and 4 | 0 and 0 | 2e-06 and 2e-06 |"


def test_the_table_takes_the_place_of_the_old_one() -> None:
    page = "before\n<!-- processes -->\nold\n<!-- /processes -->\nafter\n"
    once = with_table(page, result())
    assert "old" not in once
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    assert with_table(once, result()) == once


def test_differing_entries() -> None:
    assert differing(["a", "b", "c"], ["a", "c", "b"]) == 2


def test_the_page_shows_what_was_stored() -> None:
    stored = json.loads((ROOT / "results/processes.json").read_text())
    page = (ROOT / "docs/distributed.md").read_text()
    assert with_table(page, stored) == page
