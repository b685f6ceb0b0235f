"""The table of processes: made of the stored result, and as the page shows it."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from benchmarks.processes import COUNTS, NUDGED, differing, nudge, table, with_table

ROOT = Path(__file__).parents[2]


def result() -> dict[str, object]:
    rows = {
        str(name): {
            "losses": [2.0, 1.0 + number / 1e5],
            "selected": {"clean": 3},
            "selections_that_differ": number,
            "verdicts_that_differ": 0,
            "largest_loss_difference": number / 1e7,
            "largest_weight_difference": 2e-6,
        }
        for name, number in zip((*COUNTS, *NUDGED), (1, 2, 4, 5, 9, 7, 6, 8), strict=True)
    }
    return {"cells": [{"method": "standard", "input": "images", "processes": rows}]}


def test_rows() -> None:
    row = table(result()).splitlines()[-1]
    assert row == (
        "| `standard` | images | 1.00001, 1.00002, 1.00004 | 2 and 4 (9) | 0 and 0 (0) | 2e-07 and 4e-07 (9e-07) "
        "| 2e-06 and 2e-06 (2e-06) |"
    )


def test_a_nudge_moves_every_weight_by_its_last_digit() -> None:
    layer = torch.nn.Linear(3, 2)
    before = [weight.detach().clone() for weight in layer.parameters()]
    nudge(layer, 0)
    for old, new in zip(before, layer.parameters(), strict=True):
        assert not (old == new).any()
        assert torch.allclose(old, new, rtol=2e-7, atol=0)


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
