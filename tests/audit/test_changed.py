"""Verdicts that a second look changed without a decision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from audit.result_samples import make_audit

from lond.audit.changed import told_changes
from lond.audit.result import Audit


def audited(*verdicts: str, decided: tuple[str, ...] = ()) -> Audit:
    """Return an audit with these verdicts and decisions of its first images; all others are clean."""
    found = make_audit(20)
    table = replace(
        found.table,
        verdict=verdicts + ("clean",) * (20 - len(verdicts)),
        decided=decided + ("",) * (20 - len(decided)),
    )
    return replace(found, table=table)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    audited("foreign", "foreign", "mislabelled", "clean").save(tmp_path)
    return tmp_path


def test_changes_of_undecided_images_are_counted(earlier: Path) -> None:
    found = audited("clean", "clean", "clean", "foreign", decided=("", "", "keep", "not sure"))
    assert told_changes(earlier, found) == (
        "3 undecided images changed verdict: 2 foreign -> clean, 1 clean -> foreign"
    )
    one = audited("foreign", "mislabelled", "mislabelled")
    assert told_changes(earlier, one) == "1 undecided image changed verdict: 1 foreign -> mislabelled"


def test_rare_changes_share_a_count(tmp_path: Path) -> None:
    audited("foreign", "mislabelled", "clean", "clean", "duplicate conflict", "foreign").save(tmp_path)
    found = audited("clean", "clean", "foreign", "mislabelled", "clean", "mislabelled")
    told = told_changes(tmp_path, found)
    assert told.startswith("6 undecided images changed verdict: 1 ") and told.endswith(", 2 others")


def test_nothing_changed(earlier: Path) -> None:
    assert told_changes(earlier, audited("foreign", "foreign", "mislabelled")) == ""
    assert told_changes(earlier, audited("foreign", "clean", "clean", decided=("", "keep", "keep"))) == ""


def test_new_images_changed_nothing(earlier: Path) -> None:
    found = audited("foreign", "foreign", "mislabelled")
    renamed = replace(found, table=replace(found.table, id=tuple(f"new/{name}" for name in found.table.id)))
    assert told_changes(earlier, renamed) == ""
