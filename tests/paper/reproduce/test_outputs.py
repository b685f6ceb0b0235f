"""The files: texts, escapes, raw values."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from paper.reproduce.made import made_plan, made_record, same_for_all

from lond.paper.reproduce.lines import lines_of
from lond.paper.reproduce.outputs import table_of, write_tables
from lond.results.batch import Outcome


def test_files_by_hand(tmp_path: Path) -> None:
    plan = made_plan("table4", "full", ["(3)*", "sym80"], [0, 1])
    records = {run: made_record({"accuracy": 0.47 + 0.02 * run.seed, "auroc": 0.625}, run.seed) for run in plan.runs}
    outcome = Outcome(records)
    paths = write_tables(plan, outcome, lines_of(plan, outcome), tmp_path)
    assert [path.name for path in paths] == ["table.md", "table.tex", "table.csv", "table.json"]
    text = paths[0].read_text(encoding="utf-8").splitlines()
    assert text[0].startswith("**table4: Ablation on CIFAR80N. In percent; scale full: ")
    assert text[2] == "| row | whose | cifar80n sym80 accuracy | cifar80n sym80 AUROC | cifar80n sym80 mean |"
    row = "(3).(2)+L_PU"
    assert text[4] == f"| {row} | here | 48.00 ± 1.41 (n=2) | 62.50 ± 0.00 (n=2) | 55.25 ± 0.71 (n=2) |"
    assert text[5] == f"| {row} | paper | 46.95 | 62.51 | 54.73 |"
    assert text[6] == f"| {row} | here - paper | +1.05 | -0.01 | +0.52 |"
    latex = paths[1].read_text(encoding="utf-8")
    assert r"(3).(2)+L\_PU & here & 48.00 $\pm$ 1.41 (n=2)" in latex
    body = latex[latex.index("\\begin") :]
    assert "_" not in body.replace("\\_", "") and "%" not in body
    with paths[2].open(encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert (first["experiment"], first["scale"], first["row"], first["n"]) == ("table4", "full", row, "2")
    assert float(first["mean"]) == pytest.approx(48.0)
    assert float(first["delta"]) == pytest.approx(1.05)
    content = json.loads(paths[3].read_text(encoding="utf-8"))
    assert content["lines"][0]["values"] == {"0": pytest.approx(47.0), "1": pytest.approx(49.0)}
    assert content["lines"][0]["sd"] == pytest.approx(2**0.5)
    assert content["unit"] == "percent"


def test_differences_on_every_scale_but_smoke(tmp_path: Path) -> None:
    smoke = made_plan("table1", "smoke", ["Ours"])
    texts = table_of(lines_of(smoke, same_for_all(smoke, {"accuracy": 0.5}))).texts()
    assert [row[1] for row in texts] == ["here", "paper"]
    plan = made_plan("table1", "mini", ["Ours"])
    outcome = same_for_all(plan, {"accuracy": 0.5})
    outcome.problems[plan.runs[0]] = "the loss is not finite"
    texts = table_of(lines_of(plan, outcome)).texts()
    assert [row[1] for row in texts] == ["here", "paper", "here - paper"]
    assert texts[1][2:] == ["69.61", "49.30", "67.27"]
    assert texts[2][2:] == ["-19.61", "+0.70", "-17.27"]
    text = write_tables(plan, outcome, lines_of(plan, outcome), tmp_path)[0].read_text(encoding="utf-8")
    assert "- the paper's figures are of full scale; differences to them measure scale mini as well" in text
    assert "seed 0: the loss is not finite" in text
    assert "- left out: Ours cifar100n sym20, Ours cifar100n sym80, Ours cifar100n asym40: mini80 stands" in text


def test_table_5_holds_no_figures(tmp_path: Path) -> None:
    paths = write_tables(made_plan("table5"), Outcome(), [], tmp_path)
    assert "| LRND | yes | yes | no |" in paths[0].read_text(encoding="utf-8")


def test_what_is_missing_is_a_dash() -> None:
    plan = made_plan("table1", "smoke", ["Ours", "sym80"])
    assert table_of(lines_of(plan, Outcome())).texts()[0] == ["Ours", "here", "–", "–"]
