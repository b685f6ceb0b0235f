"""The command that corrects a set: what it shows, writes and notes."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lond.audit.table import NUMBERS, TEXTS, AuditTable, write_csv

Call = Callable[..., tuple[int, str, str]]

ROWS: tuple[dict[str, Any], ...] = (
    {"id": "a.png", "label": "cat", "verdict": "clean", "suggested_label": "cat", "confidence": 0.9},
    {"id": "b.png", "label": "cat", "verdict": "mislabelled", "suggested_label": "dogs/wolves", "confidence": 0.6},
    {"id": "c.png", "label": "dogs/wolves", "verdict": "foreign", "confidence": 0.7},
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The table of an audit of three images, one of each verdict, that lie beside it."""
    folder = tmp_path / "set"
    folder.mkdir()
    for row in ROWS:
        (folder / row["id"]).write_bytes(b"image")
    empty = {**dict.fromkeys(TEXTS, ""), **dict.fromkeys(NUMBERS, math.nan), "neighbours": ()}
    filled = [empty | {"path": row["id"]} | row for row in ROWS]
    write_csv(folder / "audit.csv", AuditTable(**{name: tuple(row[name] for row in filled) for name in filled[0]}))
    return folder / "audit.csv"


def test_a_plan_is_shown_and_nothing_written(table: Path, lond: Call) -> None:
    code, out, _ = lond("apply", table)
    assert code == 0
    assert out.splitlines() == [
        "2 of 3 images stay, 1 of them under another label; 1 are left out",
        "  keep             1  called clean",
        "  relabel          1  mislabelled (confidence at least 0.5)",
        "  leave out        1  called foreign",
        "labels that change:",
        "         1  cat -> dogs/wolves",
        "nothing was written; add --out and --write to do so",
    ]


@pytest.mark.parametrize(
    ("options", "stays"),
    [
        ([], ["cat", "dogs/wolves"]),
        (["--confidence", 0.61], ["cat", "cat"]),
        (["--foreign", 0.71], ["cat", "dogs/wolves", "dogs/wolves"]),
        (["--keep-foreign"], ["cat", "dogs/wolves", "dogs/wolves"]),
        (["--confidence", 0.61, "--drop-undecided"], ["cat"]),
    ],
)
def test_options_choose_what_stays(options: list[Any], stays: list[str], table: Path, lond: Call) -> None:
    new = table.parent / "new.csv"
    code, out, _ = lond("apply", table, *options, "--out", new, "--write")
    assert code == 0 and f"written: {new}" in out
    with new.open(newline="", encoding="utf-8") as file:
        assert [row["label"] for row in csv.DictReader(file)] == stays
    # A model of the corrected set has seen no foreign image, if one was left out.
    assert ("note: 1 foreign image is left out" in out) == (len(stays) < 3)


def test_decisions_come_before_the_table(table: Path, lond: Call) -> None:
    decisions = table.parent / "decisions.csv"
    decisions.write_text("id,decision,new_label\nc.png,keep,\nb.png,foreign,\n")
    code, out, _ = lond("apply", table, "--decisions", decisions)
    assert code == 0
    assert "leave out        1  a person called it foreign" in out and "1  a person confirmed the label" in out


def test_a_folder_of_links_needs_the_audited_folder(table: Path, tmp_path: Path, lond: Call) -> None:
    tree = tmp_path / "tree"
    code, _, error = lond("apply", table, "--out", tree, "--write")
    assert code == 2 and "needs --root" in error and not tree.exists()
    code, out, error = lond("apply", table, "--out", tree, "--root", table.parent, "--link", "copy", "--write")
    assert code == 0, error
    assert (tree / "cat" / "a.png").read_bytes() == b"image"
    assert "note: names of classes that could harm as folders were changed" in out
