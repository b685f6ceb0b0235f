"""From a table to another tool and back to decisions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from audit.formats.format_samples import audited_folder, labels_of
from audit.page.page_samples import make_table

from lond.audit.correct.apply import plan_corrections
from lond.audit.correct.decisions import Choice, read_decisions
from lond.audit.correct.plan import Action
from lond.audit.formats.checked import Checked
from lond.audit.formats.exchange import FORMATS, decisions_from, export_audit, write_decisions
from lond.errors import ConfigError, DataError


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "label-studio"])
def test_labels_that_nobody_changed_are_kept(tmp_path: Path, name: str) -> None:
    table = audited_folder(tmp_path / "set")
    written = export_audit(table, name, tmp_path / "out", tmp_path / "set")
    assert all(path.is_file() for path in written)
    decisions = decisions_from(FORMATS[name].read(tmp_path / "out"), table)
    kept = {name: label for name, (choice, label) in decisions.items() if choice == Choice.KEEP}
    assert len(kept) == len(decisions) and kept.items() >= labels_of(table).items()


def test_changed_labels_become_decisions_that_apply_reads(tmp_path: Path) -> None:
    table = make_table(40)
    row = next(row for row, verdict in enumerate(table.verdict) if verdict == "clean")
    none = next((row for row, label in enumerate(table.label) if not label), None)
    other = "dog" if table.label[row] != "dog" else "cat"
    labels: dict[str, str | None] = {
        table.id[row]: other,
        table.id[row + 1]: None,
        table.id[row + 2]: table.label[row + 2],
    }
    if none is not None:
        labels[table.id[none]] = None
    decisions = decisions_from(labels, table)
    assert decisions[table.id[row]] == (Choice.RELABEL, other)
    assert decisions[table.id[row + 1]][0] == Choice.FOREIGN and decisions[table.id[row + 2]][0] == Choice.KEEP
    write_decisions(tmp_path / "decisions.csv", decisions, table)
    again = read_decisions(tmp_path / "decisions.csv")
    assert {name: found.choice for name, found in again.items()} == {name: made[0] for name, made in decisions.items()}
    assert again[table.id[row]].new_label == other


@pytest.mark.parametrize(
    ("verdict", "given", "suggested", "label", "choice", "final"),
    [
        ("mislabelled", "cat", "dog", "dog", Choice.ACCEPT, "dog"),
        ("mislabelled", "cat", "dog", "cow", Choice.RELABEL, "cow"),
        ("mislabelled", "cat", "dog", None, Choice.FOREIGN, None),
        ("unlabelled", "", "dog", "dog", Choice.ACCEPT, "dog"),
        ("duplicate conflict", "cat", "dog", "dog", Choice.ACCEPT, "dog"),
        ("foreign", "cat", "", None, Choice.ACCEPT, None),
        ("foreign", "cat", "", "dog", Choice.RELABEL, "dog"),
        ("clean", "cat", "cat", "cat", Choice.KEEP, "cat"),
        ("clean", "cat", "dog", "dog", Choice.RELABEL, "dog"),
    ],
)
def test_the_audits_own_answer_is_accepted(
    verdict: str, given: str, suggested: str, label: str | None, choice: Choice, final: str | None, tmp_path: Path
) -> None:
    table = replace(make_table(1), label=(given,), verdict=(verdict,), suggested_label=(suggested,))
    decisions = decisions_from({table.id[0]: label}, table)
    write_decisions(tmp_path / "decisions.csv", decisions, table)
    (made,) = read_decisions(tmp_path / "decisions.csv").values()
    assert made.choice == choice
    planned = plan_corrections(table, {table.id[0]: made}, allow_new_labels=True)
    assert [image.label for image in planned.images if image.action != Action.LEAVE_OUT] == ([final] if final else [])


def test_images_may_be_named_by_path() -> None:
    table = replace(
        make_table(6),
        id=tuple("abcdef"),
        path=("cat/1.png", "cat/2.png", "cat/2.jpg", "big.png", "big.png", "/else/3.png"),
        label=("cat",) * 6,
        verdict=("clean",) * 6,
    )
    labels = {"/home/me/set/cat/1.png": "dog", "cat/2.jpg": "cat", "C:\\set\\cat\\2.png": "dog", "/else/3": None}
    decisions = decisions_from(labels, table)
    assert {name: choice for name, (choice, _) in decisions.items()} == {
        "a": Choice.RELABEL, "c": Choice.KEEP, "b": Choice.RELABEL, "f": Choice.FOREIGN
    }  # fmt: skip
    for ambiguous in ("cat/2", "big.png", "1.png"):
        with pytest.raises(DataError, match="are not in the table"):
            decisions_from({ambiguous: "cat"}, table)


def test_a_checked_label_decides_though_it_is_the_given_one() -> None:
    table = replace(make_table(2), label=("cat", "cat"), verdict=("mislabelled",) * 2, suggested_label=("dog",) * 2)
    labels = dict(zip(table.id, ("cat", Checked("cat")), strict=True))
    assert decisions_from(labels, table, keep_unchanged=False) == {table.id[1]: (Choice.KEEP, "cat")}


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    table = make_table(20)
    with pytest.raises(ConfigError, match="there is no format 'excel'; choose one of datalab"):
        export_audit(table, "excel", tmp_path / "out")
    (tmp_path / "old.json").write_text(json.dumps({}))
    with pytest.raises(DataError, match="is not empty"):
        export_audit(table, "datalab", tmp_path)
    with pytest.raises(DataError, match="1 of 1 images are not in the table, among them 'x'"):
        decisions_from({"x": "cat"}, table)
