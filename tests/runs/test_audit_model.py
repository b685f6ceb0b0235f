"""An audit's folder in place of a run folder means its newest model."""

from __future__ import annotations

from pathlib import Path

import pytest

from lond.audit import saved
from lond.audit.judge import learn
from lond.errors import DataError
from lond.io.json_files import write_json
from lond.runs import CONFIG, load_run
from lond.runs.audit_model import HEADS, MODEL, SUMMARY, run_folder


def run_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / CONFIG).write_text("{}")
    return folder


def test_names_are_those_of_audits() -> None:
    assert (SUMMARY, MODEL) == (saved.SUMMARY, learn.MODEL)


def test_anything_else_is_itself(tmp_path: Path) -> None:
    assert run_folder(tmp_path / "missing") == tmp_path / "missing"
    assert run_folder(tmp_path) == tmp_path
    # A run that happens to lie beside a summary stays a run.
    run = run_in(tmp_path / "run")
    write_json(run / SUMMARY, {})
    assert run_folder(run) == run


def test_the_newest_model_is_meant(tmp_path: Path) -> None:
    first = run_in(tmp_path / HEADS / MODEL)
    write_json(tmp_path / SUMMARY, {"images": 3})
    assert run_folder(tmp_path) == first
    second = run_in(tmp_path / HEADS / "second-look-1" / MODEL)
    write_json(tmp_path / SUMMARY, {"second_look": {"model": "second-look-1/model"}})
    assert run_folder(tmp_path) == second


def test_an_audit_without_a_model_is_told(tmp_path: Path) -> None:
    write_json(tmp_path / SUMMARY, {"images": 3})
    with pytest.raises(DataError, match=r"is the folder of an audit, and holds no model .*heads.model"):
        load_run(tmp_path)
    (tmp_path / SUMMARY).unlink()
    # Stopped before it was saved.
    (tmp_path / HEADS).mkdir()
    with pytest.raises(DataError, match="finish it with its lond audit command"):
        run_folder(tmp_path)
