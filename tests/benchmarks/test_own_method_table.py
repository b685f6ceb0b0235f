"""Tables of the page on results are those of the stored figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.own_method_table import PAGE, detector_table, entry, filled, method_table, stored_tables

ROOT = Path(__file__).parents[2]


def line(method: str, cell: str, accuracy: float, seed: int = 0) -> dict[str, object]:
    return {"method": method, "cell": cell, "ablation": "", "seed": seed, "accuracy": accuracy, "auroc": 0.5}


def test_means_by_hand() -> None:
    lines = [line("a", "judge/people50", 0.5), line("a", "judge/people50", 0.6, 1), line("b", "judge/people50", 0.7)]
    assert (entry(lines[:2]), entry(lines[2:]), entry([])) == ("55.0 / 50.0 (2)", "70.0 / 50.0", "-")
    rows = method_table([*lines, line("c", "cifar80n-sym20", 0.9)]).splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| `b`", "| `a`", "| `c`"]


def test_detectors_by_their_mean() -> None:
    lines = [{"cell": "cifar80n-sym20", "detectors": {"knn (all)": 0.5, "msp (-)": 0.75}}]
    assert detector_table(lines).splitlines()[2:] == ["| `msp` | - | 75.0 |", "| `knn` | all | 50.0 |"]


def test_the_page_shows_what_is_stored() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert filled(page, stored_tables(ROOT)) == page
