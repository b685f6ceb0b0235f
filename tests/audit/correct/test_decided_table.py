"""The table of an audit with decisions taken in."""

import math
from typing import Any

import pytest
from audit.correct.test_apply import ROWS, table_of

from lond.audit.correct.apply import plan_corrections
from lond.audit.correct.decided_table import with_decisions
from lond.audit.correct.decisions import Choice, ReviewDecision
from lond.errors import DataError

RELABEL = ReviewDecision(Choice.RELABEL, "dog")


def told(choices: dict[str, ReviewDecision]) -> dict[str, list[Any]]:
    table = with_decisions(table_of(*ROWS), choices)
    columns = (table.verdict, table.suggested_label, table.wrong_score, table.foreign_score, table.decided)
    return {name: row for name, *row in zip(table.id, *columns, strict=True) if name in choices}


def test_decided_images_have_the_persons_verdict() -> None:
    keep, foreign, accept = (ReviewDecision(each) for each in (Choice.KEEP, Choice.FOREIGN, Choice.ACCEPT))
    assert told({"sure": keep, "clean": RELABEL, "odd": foreign, "unsure": accept}) == {
        "sure": ["clean", "cat", 0.0, 0.0, "keep"],
        "clean": ["mislabelled", "dog", 1.0, 0.0, "relabel"],
        "odd": ["foreign", "", 0.0, 1.0, "foreign"],
        "unsure": ["mislabelled", "dog", 1.0, 0.0, "accept"],
    }
    verdict, label, wrong, _, _ = told({"bare": RELABEL})["bare"]
    assert (verdict, label, math.isnan(wrong)) == ("unlabelled", "dog", True)


def test_what_tells_no_label_is_only_marked() -> None:
    before = table_of(*ROWS)
    after = with_decisions(before, {"sure": ReviewDecision(Choice.NOT_SURE), "broken": ReviewDecision(Choice.KEEP)})
    assert after.verdict == before.verdict and after.suggested_label == before.suggested_label
    assert dict(zip(after.id, after.decided, strict=True))["sure"] == "not sure"
    assert set(after.decided) == {"", "not sure"}, "an unreadable image stays unreadable"


def test_corrections_are_the_same_as_with_the_decisions() -> None:
    decisions = {"clean": RELABEL, "foreign": ReviewDecision(Choice.KEEP), "sure": ReviewDecision(Choice.FOREIGN)}
    table = table_of(*ROWS)
    assert plan_corrections(with_decisions(table, decisions)) == plan_corrections(table, decisions)


def test_unknown_images_and_labels_are_refused() -> None:
    with pytest.raises(DataError, match="belong to another audit"):
        with_decisions(table_of(*ROWS), {"nobody": RELABEL})
    new = {"clean": ReviewDecision(Choice.RELABEL, "bird")}
    with pytest.raises(DataError, match="'clean': 'bird' is not a class of the audited set; correct it"):
        with_decisions(table_of(*ROWS), new)
    assert "bird" in with_decisions(table_of(*ROWS), new, allow_new_labels=True).suggested_label
