"""What a second look changed beyond its decisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from audit.result_samples import make_audit

from lond.audit.changed import told_changes, told_undecided
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
    changes = "3 undecided images changed verdict: 2 foreign -> clean, 1 clean -> foreign"
    told = f"{changes}; check on the page what is foreign now"
    assert told_changes(earlier, found) == f"{told}, as lond apply leaves it out"
    lower = replace(found, summary=found.summary | {"threshold": 0.53})
    before = 100 * found.summary.get("threshold", 1)
    limits = f" (from 53 % on; before, from {before:.0f} %)"
    assert told_changes(earlier, lower) == f"{told}{limits}, as lond apply leaves it out"
    one = audited("foreign", "mislabelled", "mislabelled")
    assert told_changes(earlier, one) == "1 undecided image changed verdict: 1 foreign -> mislabelled"


def test_rare_changes_share_a_count(tmp_path: Path) -> None:
    audited("foreign", "mislabelled", "clean", "clean", "duplicate conflict", "foreign").save(tmp_path)
    found = audited("clean", "clean", "foreign", "mislabelled", "clean", "mislabelled")
    told = told_changes(tmp_path, found)
    assert told.startswith("6 undecided images changed verdict: 1 ") and ", 2 others; check on the page" in told


def test_nothing_changed(earlier: Path) -> None:
    assert told_changes(earlier, audited("foreign", "foreign", "mislabelled")) == ""
    assert told_changes(earlier, audited("foreign", "clean", "clean", decided=("", "keep", "keep"))) == ""


def test_new_images_changed_nothing(earlier: Path) -> None:
    found = audited("foreign", "foreign", "mislabelled")
    renamed = replace(found, table=replace(found.table, id=tuple(f"new/{name}" for name in found.table.id)))
    assert told_changes(earlier, renamed) == ""


def test_decisions_that_are_gone_are_counted_with_the_way_back(tmp_path: Path) -> None:
    first = audited("clean", "clean", "clean", decided=("keep", "not sure", "keep"))
    second = {"decided": 3, "taught": 2, "key": "abc"}
    replace(first, summary=first.summary | {"second_look": second}).save(tmp_path)
    (tmp_path / "decisions-abc.csv").touch()
    found = audited("clean", decided=("relabel",))
    assert told_undecided(tmp_path, found, tmp_path) == (
        "2 images that were decided before are undecided now, as the new decisions lack them; "
        f"--decisions {tmp_path / 'decisions-abc.csv'} returns to the former decisions"
    )
    (tmp_path / "decisions-abc.csv").unlink()
    told = told_undecided(tmp_path, audited("clean", decided=("keep", "", "keep")), tmp_path)
    assert told == (
        "1 image that was decided before is undecided now; "
        f"the former decisions are in the column decided of {tmp_path / 'audit.csv'}"
    )


def test_changed_and_new_decisions_and_removed_images_are_no_loss(tmp_path: Path) -> None:
    audited("clean", decided=("keep", "keep")).save(tmp_path)
    assert told_undecided(tmp_path, audited("clean", decided=("foreign", "not sure", "keep")), tmp_path) == ""
    found = audited("clean")
    renamed = replace(found, table=replace(found.table, id=tuple(f"new/{name}" for name in found.table.id)))
    assert told_undecided(tmp_path, renamed, tmp_path) == ""
