"""What a plan counts and how it is described."""

from __future__ import annotations

from lond.audit.correct.plan import SHOWN, Action, CorrectionPlan, PlannedImage

KEEP, RELABEL, LEAVE_OUT = Action


def image(given: str, label: str, action: Action, why: str = "rule") -> PlannedImage:
    return PlannedImage("x", "x.png", given, label, action, why)


PLAN = CorrectionPlan(
    (
        image("cat", "cat", KEEP),
        image("cat", "dog", RELABEL, "b"),
        image("cat", "dog", RELABEL, "a"),
        image("", "cat", RELABEL, "a"),
        image("eel", "", LEAVE_OUT, "unreadable"),
    )
)


def test_it_counts() -> None:
    assert (len(PLAN), len(PLAN.kept)) == (5, 4)
    assert PLAN.foreign_left_out == 0
    foreign = image("cat", "", LEAVE_OUT, "a person called it foreign"), image("cat", "cat", KEEP, "foreign, but kept")
    assert CorrectionPlan((*PLAN.images, *foreign)).foreign_left_out == 1
    assert PLAN.counts() == {KEEP: 1, RELABEL: 3, LEAVE_OUT: 1}
    assert CorrectionPlan(()).counts() == {KEEP: 0, RELABEL: 0, LEAVE_OUT: 0}


def test_reasons_and_changes_are_ordered_by_how_many() -> None:
    assert list(PLAN.reasons().items()) == [
        ((KEEP, "rule"), 1), ((RELABEL, "a"), 2), ((RELABEL, "b"), 1), ((LEAVE_OUT, "unreadable"), 1),
    ]  # fmt: skip
    assert list(PLAN.changes().items()) == [(("cat", "dog"), 2), (("", "cat"), 1)]


def test_a_class_is_lost_if_no_image_that_stays_carries_it() -> None:
    assert PLAN.lost_classes() == ["eel"]
    moved = CorrectionPlan((image("cat", "dog", RELABEL), image("dog", "cat", RELABEL)))
    assert moved.lost_classes() == []


def test_the_description_says_all_of_it() -> None:
    assert str(PLAN).splitlines() == [
        "4 of 5 images stay, 3 of them under another label; 1 are left out",
        "  keep             1  rule",
        "  relabel          2  a",
        "  relabel          1  b",
        "  leave out        1  unreadable",
        "labels that change:",
        "         2  cat -> dog",
        "         1  (no label) -> cat",
        "classes that lose all their images: eel",
    ]
    assert CorrectionPlan(()).describe() == "0 of 0 images stay, 0 of them under another label; 0 are left out"


def test_a_description_is_short_and_harmless() -> None:
    many = CorrectionPlan(tuple(image(f"c{number:02}", "x", RELABEL) for number in range(SHOWN + 3)))
    assert "  ... and 3 other pairs" in many.describe().splitlines()
    hostile = CorrectionPlan((image("bad\x1b[31m", "", LEAVE_OUT), image("y" * 99, "", LEAVE_OUT)))
    assert hostile.describe().endswith(f"their images: bad\N{REPLACEMENT CHARACTER}[31m, {'y' * 60}")
