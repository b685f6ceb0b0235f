"""What a plan counts and how it is described."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lond.audit.correct.plan import FOREIGN_REASONS, SHOWN, Action, CorrectionPlan, PlannedImage, Reason

KEEP, RELABEL, LEAVE_OUT = Action


def image(given: str, label: str, action: Action, reason: Reason = Reason.NO_DOUBT, detail: str = "") -> PlannedImage:
    return PlannedImage("x", "x.png", given, label, action, reason, detail)


PLAN = CorrectionPlan(
    (
        image("cat", "cat", KEEP),
        image("cat", "dog", RELABEL, Reason.PERSON_RELABELLED),
        image("cat", "dog", RELABEL, Reason.MISLABELLED, "0.5"),
        image("", "cat", RELABEL, Reason.MISLABELLED, "0.5"),
        image("eel", "", LEAVE_OUT, Reason.UNREADABLE),
    )
)


def test_it_counts() -> None:
    assert (len(PLAN), len(PLAN.kept)) == (5, 4)
    assert PLAN.counts() == {KEEP: 1, RELABEL: 3, LEAVE_OUT: 1}
    assert CorrectionPlan(()).counts() == {KEEP: 0, RELABEL: 0, LEAVE_OUT: 0}


@pytest.mark.parametrize("reason", Reason)
def test_it_counts_what_is_left_out_because_it_may_be_foreign(reason: Reason) -> None:
    expected = 1 if "foreign" in reason and "not left out" not in reason else 0
    assert (reason in FOREIGN_REASONS) == expected
    left_out, kept = image("cat", "cat", LEAVE_OUT, reason), image("cat", "cat", KEEP, reason)
    assert CorrectionPlan((*PLAN.images, left_out, kept)).foreign_left_out == expected


def test_reasons_are_told_with_their_detail() -> None:
    assert image("cat", "", LEAVE_OUT, Reason.FOREIGN, "0.65").why == "foreign (chance at least 0.65)"
    accepted = image("cat", "", LEAVE_OUT, Reason.PERSON_ACCEPTED_NO_LABEL, "mislabelled")
    assert accepted.why == "a person confirmed the verdict mislabelled, and no label is suggested"
    assert image("cat", "cat", KEEP, Reason.PERSON_KEPT).why == "a person confirmed the label"


def test_reasons_and_changes_are_ordered_by_how_many() -> None:
    assert list(PLAN.reasons().items()) == [
        ((KEEP, "called clean"), 1),
        ((RELABEL, "mislabelled (confidence at least 0.5)"), 2),
        ((RELABEL, "a person gave the label"), 1),
        ((LEAVE_OUT, "unreadable"), 1),
    ]
    assert list(PLAN.changes().items()) == [(("cat", "dog"), 2), (("", "cat"), 1)]


def test_a_class_is_lost_if_no_image_that_stays_carries_it() -> None:
    assert PLAN.lost_classes() == ["eel"]
    moved = CorrectionPlan((image("cat", "dog", RELABEL), image("dog", "cat", RELABEL)))
    assert moved.lost_classes() == []


def test_the_description_says_all_of_it() -> None:
    assert str(PLAN).splitlines() == [
        "4 of 5 images stay, 3 of them under another label; 1 are left out",
        "  keep             1  called clean",
        "  relabel          2  mislabelled (confidence at least 0.5)",
        "  relabel          1  a person gave the label",
        "  leave out        1  unreadable",
        "labels that change:",
        "         2  cat -> dog",
        "         1  (no label) -> cat",
        "classes that lose all their images: eel",
    ]
    assert CorrectionPlan(()).describe() == "0 of 0 images stay, 0 of them under another label; 0 are left out"


def test_the_description_names_what_needs_a_look() -> None:
    unsure = replace(image("cat", "cat", KEEP, Reason.UNSURE_MISLABELLED), likely_foreign=True)
    clean, left = (
        replace(image("cat", "cat", KEEP), likely_foreign=True),
        image("cat", "cat", LEAVE_OUT, Reason.FOREIGN),
    )
    dark, soft = replace(left, hard_to_see=("dark",)), replace(left, hard_to_see=("dark", "blurred"))
    kept_dark = replace(image("cat", "cat", KEEP), hard_to_see=("dark",))
    lines = CorrectionPlan((unsure, clean, clean, left, dark, soft, kept_dark)).describe().splitlines()
    assert lines[-2:] == [
        "3 images that stay are more likely foreign than not; --foreign 0.5 leaves them out",
        "2 of 3 images left out as foreign are dark or blurred; look at them first",
    ]
    assert (
        CorrectionPlan((clean,))
        .describe()
        .splitlines()[-1]
        .startswith("1 image that stays is more likely foreign than not; --foreign 0.5")
    )
    plain = CorrectionPlan((replace(left, likely_foreign=True), kept_dark)).describe()
    assert "more likely foreign" not in plain and "look at them" not in plain


def test_a_description_is_short_and_harmless() -> None:
    many = CorrectionPlan(tuple(image(f"c{number:03}", "x", RELABEL) for number in range(SHOWN + 3)))
    assert "  ... and 3 other pairs" in many.describe().splitlines()
    hostile = CorrectionPlan((image("bad\x1b[31m", "", LEAVE_OUT), image("y" * 99, "", LEAVE_OUT)))
    assert hostile.describe().endswith(f"their images: bad\N{REPLACEMENT CHARACTER}[31m, {'y' * 60}")
