"""What several commands share: lists with commas, folders and tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

from lond.cli.shared import (
    known_names,
    make_folder,
    note,
    print_figures,
    print_table,
    resumable,
    say,
    seed_numbers,
    split,
    starting,
    threads_of_a_run,
)
from lond.errors import ConfigError
from lond.results.tables import Column, Table


def test_lists_with_commas() -> None:
    assert split(" a, b,,c ,") == ["a", "b", "c"] and split("") == []
    assert known_names("knn, msp", ["msp", "knn"]) == ["knn", "msp"]
    assert known_names(" ,", ["msp"]) is None
    with pytest.raises(ConfigError, match="there is no 'magic'; choose from: msp, knn"):
        known_names("msp,magic", ["msp", "knn"])


def test_seeds_are_whole_numbers_each_once() -> None:
    assert seed_numbers("2, 0,2,1") == [2, 0, 1]
    for text in ("", "one", "1.5", "1,,2"):
        with pytest.raises(ConfigError, match="--seeds needs whole numbers with commas, e.g. 0,1,2"):
            seed_numbers(text)
    with pytest.raises(ConfigError, match="must not be negative"):
        seed_numbers("0,-1")


def test_a_folder_is_made_or_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path / "a" / "b", "--out")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="--out .*file is a file; name a folder"):
        make_folder(tmp_path / "file", "--out")
    with pytest.raises(ConfigError, match="--out .* cannot be made: .*; name another folder"):
        make_folder(tmp_path / "file" / "below", "--out")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConfigError, match="cannot be written to"):
        make_folder(tmp_path / "a", "--out")


def test_runs_at_a_time_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert [threads_of_a_run(asked, jobs) for asked, jobs in ((0, 1), (0, 3), (0, 99), (5, 3))] == [0, 2, 1, 5]


def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    say("[red]a[/red] 1 " + "x" * 300)
    assert capsys.readouterr().out == "[red]a[/red] 1 " + "x" * 300 + "\n"


def test_a_table_has_no_empty_columns_and_is_not_folded(capsys: pytest.CaptureFixture[str]) -> None:
    columns = (Column("name"), Column("accuracy", "share"), Column("auroc", "share"), Column("epochs"))
    print_table(Table(columns, (("[b]" + "y" * 200, 0.5, None, 3), ("z", None, None, 3))), "A title", ("epochs",))
    shown = capsys.readouterr().out
    assert shown.startswith("A title\n")
    assert "[b]" + "y" * 200 in shown and "50.00" in shown
    assert "AUROC" not in shown and "epochs" not in shown


def test_shares_are_printed_and_the_rest_is_for_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    print_figures("[b]", {"balanced_accuracy": 0.125, "loss_total": 1.0, "clean_size": 40, "clean_share": 0.5})
    shown = capsys.readouterr().out
    assert "[b]" in shown and "balanced accuracy" in shown and "12.50 %" in shown
    assert not any(word in shown for word in ("loss", "size", "share"))
    print_figures("nothing", {"loss": 1.0})
    assert capsys.readouterr().out == ""


def test_notes_cannot_harm_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note("[b]:smile: a\x1b[31mb\nc")
    assert capsys.readouterr().out == "note: [b]:smile: a\\x1b[31mb\\nc\n"


def test_a_terminal_is_told_at_once_that_a_command_has_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    starting("audit")
    assert not capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    starting("audit")
    assert capsys.readouterr().out == "audit: starting\n"


def test_an_interrupted_command_says_how_to_resume(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stopped, resumable():
        raise KeyboardInterrupt
    assert stopped.value.exit_code == 130
    assert capsys.readouterr().out == "stopped; run the same command to resume\n"
    with pytest.raises(typer.Exit), resumable(lambda: "features are reused"):
        raise KeyboardInterrupt
    assert capsys.readouterr().out == "stopped; run the same command to resume (features are reused)\n"
    with pytest.raises(ConfigError, match="other"), resumable():
        raise ConfigError("other")
