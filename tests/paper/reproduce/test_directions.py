"""Directions against values computed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from paper.reproduce.finished import finished_records
from paper.reproduce.made import made_plan

from lond.paper.reproduce.directions import FULL, Direction, comparisons_of, directions_table, sign, summary_of
from lond.paper.reproduce.lines import Line, lines_of
from lond.paper.reproduce.outputs import notes_of, write_tables
from lond.results.batch import Outcome
from lond.results.groups import summarise


def line(row: str, values: list[float], published: float | None, metric: str = "accuracy", **rest: str) -> Line:
    place = {"data": "cifar80n", "noise": "sym80", "reading": "", **rest}
    found = dict(enumerate(values))
    return Line(row, "", "", place["data"], place["noise"], metric, place["reading"], found, published, comparable=True)


def test_directions_by_hand() -> None:
    lines = [
        line("(2).Baseline", [40.0, 44.0, 50.0], 46.95),
        line("(3).(2)+L_PU", [46.0], 46.95),
        line("(4).(3)+L_Con", [], 47.65),
        line(FULL, [41.0, 47.0], 49.30),
    ]
    compared = comparisons_of("table4", lines)
    second, third = compared["the full method"]
    # Each seed with itself: -1 and -3; the third seed has no full method to be compared with.
    assert (second.here.n, second.here.mean, second.here.deviation) == (2, -2.0, pytest.approx(2**0.5))
    assert second.paper == {"sym80": pytest.approx(46.95 - 49.30)} and second.agrees
    assert (third.here.mean, third.agrees) == (5.0, False)
    assert comparisons_of("table1", lines) == {} == comparisons_of("table4", [lines[1], lines[2]])
    assert directions_table([second, third]).texts() == [
        ["Sym-80%", "(2).Baseline", FULL, "accuracy", "-2.00 ± 1.41 (n=2)", "-2.35", "yes"],
        ["Sym-80%", "(3).(2)+L_PU", FULL, "accuracy", "+5.00 (n=1)", "-2.35", "no"],
    ]
    told = "1 of 2 differences to the full method have the paper's sign"
    assert summary_of([second, third], "the full method") == f"{told}; not those of (3).(2)+L_PU sym80 accuracy"
    assert summary_of([], "the row before") == ""
    # The paper prints the same accuracy for (2) and (3): it has no direction there.
    (added,) = compared["the row before"]
    assert (added.name, added.against) == ("(3).(2)+L_PU", "(2).Baseline")
    assert (added.here.mean, added.paper, added.agrees) == (6.0, {"sym80": 0.0}, None)


def test_a_row_is_compared_with_each_reading_of_the_one_before() -> None:
    lines = [
        line("(1).Warmup", [33.0], 33.95),
        replace(line("(1).Warmup", [30.0], 33.95), reading="short"),
        line("(2).Baseline", [40.0], 46.95),
    ]
    long, short = comparisons_of("table4", lines)["the row before"]
    assert (long.against, long.here.mean) == ("(1).Warmup", 7.0)
    assert (short.against, short.here.mean) == ("(1).Warmup (short)", 10.0)
    assert long.paper == short.paper == {"sym80": pytest.approx(46.95 - 33.95)} and long.agrees and short.agrees
    # Readings of one row are one row.
    assert summary_of([long, short], "the row before").startswith("1 of 1 differences")


def test_a_noise_of_ours_is_compared_with_all_of_the_papers() -> None:
    lines = [replace(one, noise="sym50") for one in (line("(4).(3)+L_Con", [46.0], None), line(FULL, [47.0], None))]
    compared = comparisons_of("table4", lines)
    (one,) = compared["the full method"]
    assert one.paper == {"sym80": pytest.approx(-1.65), "asym40": pytest.approx(-0.87)} and one.agrees
    assert directions_table([one]).texts()[0][5:] == ["-1.65 (Sym-80%), -0.87 (Asym-40%)", "yes"]
    (added,) = compared["the row before"]
    assert added.here.mean == 1.0 and added.paper["asym40"] == pytest.approx(0.87)


def test_no_direction_where_the_paper_has_two() -> None:
    assert [sign(value) for value in (-0.004, 0.3, -2.0)] == [0, 1, -1]
    assert Direction("row", "other", "sym50", "auroc", summarise([1.0]), {"sym80": 1.0, "asym40": -1.0}).agrees is None
    assert Direction("row", "other", "sym50", "auroc", summarise([]), {"sym80": 1.0}).agrees is None


def test_the_ablation_under_another_noise_is_written_with_directions(tmp_path: Path) -> None:
    plan = made_plan("table4", "mini", ["sym50"], [0], tmp_path)
    assert [len(run.cells) for run in plan.runs] == [1] * 6

    def accuracy(run: object) -> float:
        return 0.61 if run.cells[0].row == FULL else 0.51  # type: ignore[attr-defined]

    outcome = Outcome(finished_records(plan, accuracy))
    lines = lines_of(plan, outcome)
    # The AUROC is the same in all runs: a difference of nothing is no fall.
    told = "4 of 8 differences to the full method have the paper's sign; not those of (1).Warmup sym50 auroc"
    assert any(note.startswith(told) for note in notes_of(plan, outcome))
    text = write_tables(plan, outcome, lines, tmp_path / "out")[0].read_text(encoding="utf-8")
    row = f"| Sym-50% | (2).Baseline | {FULL} | accuracy | -10.00 (n=1) | -2.35 (Sym-80%), -1.12 (Asym-40%) | yes |"
    assert row in text
