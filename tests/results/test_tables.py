"""Tables of records in every format."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from results.run_samples import small, write_run

from lond.results import Record, Summary, group, record_of
from lond.results.tables import (
    FORMATS,
    Column,
    OfKind,
    Table,
    as_csv,
    as_json,
    as_latex,
    as_markdown,
    differences_table,
    groups_table,
    metric_column,
    runs_table,
    shown,
)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    root = tmp_path_factory.mktemp("runs")
    return [
        record_of(write_run(root / "a", small(seed=0), accuracy=0.5), scale="mini"),
        record_of(write_run(root / "b", small(seed=1), accuracy=0.6, detectors=True), scale="mini"),
    ]


def test_cells() -> None:
    assert shown(0.12345, "share") == "12.35"
    assert shown(1.23456, "number") == "1.235"
    assert shown(None, "share") == shown("", "text") == shown(Summary(0, None, None, 2), "share") == "–"
    assert shown(0, "text") == "0"
    assert shown(Summary(3, 0.5, 0.01), "share") == "50.00 ± 1.00"
    assert shown(Summary(1, 0.5, None, lacking=2), "share") == "50.00 (n=1)"
    # What is in percent already is told with its n, a difference with its sign.
    assert shown(Summary(2, 50.0, 1.0), "percent") == "50.00 ± 1.00 (n=2)"
    assert shown(Summary(2, 0.5, 1.0), "points") == "+0.50 ± 1.00 (n=2)"
    assert (shown(-0.5, "points"), shown(OfKind(0.5, "share"), "text")) == ("-0.50", "50.00")
    assert shown(Summary(0, None, None), "percent") == "–"


def test_what_is_a_share() -> None:
    for name in ("accuracy", "last.auroc", "knn.clean.fpr95", "clean_share"):
        assert metric_column(name).kind == "share"
    for name in ("loss", "last.loss_prototype", "first_loss", "clean_size", "seconds"):
        assert metric_column(name).kind == "number"
    assert metric_column("knn.clean.auroc").title == "knn clean AUROC"


def test_runs_as_csv_and_json_are_raw(records: list[Record]) -> None:
    table = runs_table(records, ["accuracy", "msp.auroc"])
    rows = list(csv.DictReader(io.StringIO(as_csv(table))))
    assert [float(row["accuracy"]) for row in rows] == [0.49, 0.59]
    assert [row["msp.auroc"] for row in rows] == ["", "0.7"]
    assert [row["seed"] for row in rows] == ["0", "1"]
    content = json.loads(as_json(table))
    assert content[0]["msp.auroc"] is None
    assert content[1]["name"] == records[1].name


def test_groups_as_csv_and_json(records: list[Record]) -> None:
    table = groups_table(group(records), ["accuracy", "msp.auroc"])
    (row,) = json.loads(as_json(table))
    assert row["accuracy_mean"] == pytest.approx(0.54)
    assert row["accuracy_sd"] == pytest.approx(0.1 / 2**0.5)
    assert (row["accuracy_n"], row["msp.auroc_n"], row["msp.auroc_sd"], row["n"]) == (2, 1, None, 2)
    (line,) = csv.DictReader(io.StringIO(as_csv(table)))
    assert line.keys() == row.keys()
    assert line["msp.auroc_sd"] == ""


def test_markdown(records: list[Record]) -> None:
    text = as_markdown(groups_table(group(records), ["accuracy", "msp.auroc"]))
    assert text.splitlines() == [
        "| method | data | noise | n | accuracy | msp AUROC |",
        "| --- | --- | --- | --- | ---: | ---: |",
        "| lond-drs | mini80 | sym50 | 2 | 54.00 ± 7.07 | 70.00 (n=1) |",
    ]
    assert as_markdown(Table((Column("a"),), (("x|y",),))).endswith("| x\\|y |\n")


def test_latex(records: list[Record]) -> None:
    text = as_latex(groups_table(group(records), ["accuracy", "fpr95"]))
    assert text.splitlines() == [
        r"\begin{tabular}{llllrr}",
        r"\toprule",
        r"method & data & noise & n & accuracy & FPR95 \\",
        r"\midrule",
        r"lond-drs & mini80 & sym50 & 2 & 54.00 $\pm$ 7.07 & 90.00 $\pm$ 0.00 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    odd = as_latex(Table((Column("a"),), ((r"50% & a_b \ {~^}#$ –",),)))
    assert r"50\% \& a\_b \textbackslash{} \{\textasciitilde{}\textasciicircum{}\}\#\$ --" in odd


def test_differences(records: list[Record]) -> None:
    table = differences_table(*records)
    texts = {row[1]: row for row in table.texts()}
    assert texts["train.seed"] == ["setting", "train.seed", "0", "1", "–"]
    assert texts["accuracy"] == ["metric", "accuracy", "49.00", "59.00", "10.00"]
    assert texts["msp.auroc"][2:] == ["–", "70.00", "–"]
    assert not any(key.startswith(("last.", "curve")) for key in texts)
    raw = {row["key"]: row for row in json.loads(as_json(table))}
    assert raw["accuracy"]["change"] == pytest.approx(0.1)
    assert differences_table(records[0], records[0]).rows == ()


def test_settings_of_two_methods_are_not_compared(records: list[Record], tmp_path: Path) -> None:
    other = record_of(write_run(tmp_path, small(method="standard")))
    keys = [row[1] for row in differences_table(records[0], other).rows]
    assert "method" in keys
    assert not any(key.startswith("settings.") for key in keys)


def test_runs_of_other_lengths_are_compared(records: list[Record]) -> None:
    longer = replace(records[0], epochs=9)
    (row,) = differences_table(records[0], longer).texts()
    assert row == ["metric", "epochs", "6", "9", "3"]


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_to_print(name: str) -> None:
    assert FORMATS[name](groups_table([])).endswith("\n")
