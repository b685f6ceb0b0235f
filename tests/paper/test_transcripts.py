"""The transcripts against the paper's own source, which is not part of this project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lond.paper import DATA_SETS, EXPERIMENTS, NOISE_NAMES, TASKS, VENUES, table

PAPER = Path(__file__).parents[3] / "shared" / "paper" / "paper.tex"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not PAPER.is_file(), reason=f"the paper's LaTeX source is not part of the project; put it at {PAPER}"
    ),
]

NUMBER = re.compile(r"(\\textbf\{)?(\d+\.\d+)")
TABLES = [name for name in EXPERIMENTS if name.startswith("table")]


def source(name: str) -> str:
    """Return the LaTeX of a table, found by its label."""
    blocks = re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", PAPER.read_text(encoding="utf-8"), re.DOTALL)
    found: list[str] = [block for block in blocks if f"\\label{{{EXPERIMENTS[name].label}}}" in block]
    assert len(found) == 1
    return found[0]


def body(name: str) -> str:
    inside = re.search(r"\\begin\{tabular\}\{[^}]*\}(.*?)\\end\{tabular\}", source(name), re.DOTALL)
    assert inside
    return inside[1]


def rows(name: str) -> list[list[str]]:
    """Return the cells of a table's rows without rules and type."""
    plain = re.sub(r"\\(toprule|midrule|bottomrule|cmidrule\{[^}]*\})", "", body(name))
    plain = re.sub(r"\\textsuperscript\{\\dag\}", "†", plain)
    plain = re.sub(r"\$\\mathcal\{L\}_\{(\w+)\}\$", r"L_\1", plain).replace("\\%", "%")
    plain = re.sub(r"\\textbf\{([^}]*)\}", r"\1", plain)
    return [[cell.strip() for cell in line.split("&")] for line in plain.split("\\\\") if "&" in line]


def test_all_tables_and_figures_are_known_in_their_order() -> None:
    text = PAPER.read_text(encoding="utf-8")
    labels = re.findall(r"\\label\{((?:tab|fig):\w+)\}", text)
    assert [label for label in labels if label.startswith("tab")] == [EXPERIMENTS[name].label for name in TABLES]
    figures = [name for name in EXPERIMENTS if name.startswith("figure")]
    assert [label for label in labels if label.startswith("fig")] == [EXPERIMENTS[name].label for name in figures]
    assert text.count("\\begin{tabular}") == len(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_every_figure_is_transcribed_in_order_with_its_type(name: str) -> None:
    printed = [(float(value), bool(bold)) for bold, value in NUMBER.findall(body(name))]
    assert [(figure.value, figure.bold) for figure in table(name)] == printed
    assert [f"{figure.value:.2f}" for figure in table(name)] == [value for _, value in NUMBER.findall(body(name))]


@pytest.mark.parametrize("name", ["table1", "table3", "table4"])
def test_contenders_in_rows(name: str) -> None:
    lines = [row for row in rows(name) if NUMBER.search(row[-1])]
    printed = [row[0].rstrip("†") for row in lines]
    assert list(dict.fromkeys(figure.row for figure in table(name))) == printed
    if name != "table4":
        assert [VENUES.get(row, "-") for row in printed] == [row[1] for row in lines]
    if name == "table1":
        again = {figure.row for figure in table(name) if figure.source == "re-run"}
        assert {row[0].rstrip("†") for row in lines if row[0].endswith("†")} == again


@pytest.mark.parametrize(("name", "skipped"), [("table2", 1), ("table6", 1), ("table7", 2), ("table8", 2)])
def test_contenders_in_columns(name: str, skipped: int) -> None:
    header, *lines = rows(name)
    assert list(dict.fromkeys(figure.row for figure in table(name))) == header[skipped:]
    cases = list(dict.fromkeys((figure.data, figure.noise) for figure in table(name)))
    if skipped == 1:
        assert [noise for _, noise in cases] == [NOISE_NAMES.get(line[0], "mean") for line in lines]
        return
    sets = [line[0] for line in lines]
    assert sets[1] == sets[3] == ""
    printed = [f"{sets[2 * (at // 2)]} {line[1]}" for at, line in enumerate(lines)]
    assert [DATA_SETS[data].printed for data, _ in cases] == printed
    assert "Sym-50\\%" in source(name)


def test_columns_of_data_sets_and_noises() -> None:
    assert rows("table1")[1][2:5] == rows("table1")[1][6:] == ["Sym-20%", "Sym-80%", "Asym-40%"]
    assert re.findall(r"CIFAR\d+N", rows("table1")[0][2] + rows("table1")[0][4]) == ["CIFAR100N", "CIFAR80N"]
    assert rows("table3")[0][3:] == [*(DATA_SETS[d].printed for d in ("web-aircraft", "web-bird", "web-car")), "Avg."]
    assert re.findall(r"A?[sS]ym-\d+%", " ".join(rows("table4")[0])) == ["Sym-80%", "Asym-40%"]
    assert rows("table4")[1][1:] == ["ACC", "AUROC", "Avg."] * 2


def test_tasks() -> None:
    marks = [[cell == "\\CheckmarkBold" for cell in row[1:]] for row in rows("table5") if "Bold" in row[1]]
    assert [[t.closed_in_training, t.open_in_training, t.open_in_test] for t in TASKS] == marks
