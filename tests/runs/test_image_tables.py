from __future__ import annotations

import csv
from pathlib import Path

import pytest

from lond.errors import DataError
from lond.runs.image_tables import PredictionTable, read_verdicts, write_verdicts

COLUMNS = {
    "id": ["=cmd()/a.png", "b.png"],
    "label": ["@home", "'tis"],
    "verdict": ["clean", "foreign"],
    "suggested_label": ["-1", ""],
    "probability": ["0.5", "1"],
    "foreign_score": ["-0.25", "-1e-05"],
}


def test_verdicts_are_safe_in_a_spreadsheet_and_the_same_when_read(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    write_verdicts(path, COLUMNS)
    with path.open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["id"], first["label"], first["suggested_label"]) == ("'=cmd()/a.png", "'@home", "'-1")
    assert (first["foreign_score"], second["foreign_score"]) == ("-0.25", "-1e-05")
    assert read_verdicts(path) == COLUMNS


def test_verdicts_written_before_text_was_made_safe_are_read(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_text("id,label,verdict\r\n=a.png,-1,clean\r\n", encoding="utf-8")
    assert read_verdicts(path) == {"id": ["=a.png"], "label": ["-1"], "verdict": ["clean"]}
    path.write_text("name,label\r\n", encoding="utf-8")
    with pytest.raises(DataError, match="not a run's table of verdicts: it has no column id, verdict"):
        read_verdicts(path)


def test_predictions_are_safe_in_a_spreadsheet(tmp_path: Path) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    PredictionTable(tuple(COLUMNS), rows).write(tmp_path / "predictions.csv")
    assert read_verdicts(tmp_path / "predictions.csv") == COLUMNS
    assert "'=cmd()/a.png,'@home,clean,'-1,0.5,-0.25" in (tmp_path / "predictions.csv").read_text(encoding="utf-8")
