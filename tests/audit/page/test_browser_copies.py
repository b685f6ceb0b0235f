"""Copies side by side: conflicting labels, one label, and pictures that are not the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, make_page
from audit.page.page_visits import written

pytestmark = pytest.mark.slow

COPIES = {3: 1, 5: 4, 8: 7, 9: 7, 11: 10}
"""Row -> row that it repeats: a conflict, one label, a group of three, exact copies."""


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    page = make_page(14)
    labels = ["cat"] * 14
    labels[3] = labels[9] = "dog"
    conflicts = {1, 3, 7, 8, 9}
    table = replace(
        page.table,
        verdict=tuple("duplicate conflict" if row in conflicts else "clean" for row in range(14)),
        label=tuple(labels),
        duplicate_of=tuple(page.table.id[COPIES[row]] if row in COPIES else "" for row in range(14)),
        copy=tuple("" if row not in COPIES else "exact" if row == 11 else "near" for row in range(14)),
    )
    return written(tmp_path, replace(page, table=table))


def group(seen: Any, first: int) -> Any:
    return seen.page.locator(f'.copy-group[data-group="{first}"]')


def test_groups_stand_side_by_side_those_in_conflict_first(visit: Any, copies: Path) -> None:
    seen = visit(copies, "copies")
    firsts = seen.page.locator(".copy-group").evaluate_all("(nodes) => nodes.map((node) => node.dataset.group)")
    assert firsts == ["1", "7", "4", "10"]
    assert "4 groups" in seen.text("#copies-count") and "2 with different labels" in seen.text("#copies-count")
    assert group(seen, 7).locator(".member").count() == 3 and "labels differ: cat, dog" in group(seen, 7).inner_text()
    assert "labelled cat" in group(seen, 4).inner_text() and "exact copies" in group(seen, 10).inner_text()
    tops = group(seen, 7).locator(".member").evaluate_all("(nodes) => nodes.map((node) => node.offsetTop)")
    assert len(set(tops)) == 1
    assert group(seen, 10).locator("[data-apart-of]").count() == 0
    for kind, expected in (("differ", 2), ("same", 2), ("near", 3), ("all", 4)):
        seen.page.select_option("#copies-kind", kind)
        assert seen.page.locator(".copy-group").count() == expected, kind


def test_not_the_same_is_an_answer_that_travels(visit: Any, copies: Path) -> None:
    seen = visit(copies, "copies")
    page = seen.page
    page.click('[data-apart-of="3"]')
    assert group(seen, 1).locator('[aria-pressed="true"]').count() == 2
    assert group(seen, 1).get_attribute("data-settled") == "true" and seen.text("#progress-text").startswith("2 of 5")
    page.locator('[data-apart-of="9"]').focus()
    page.keyboard.press("Enter")
    assert group(seen, 7).locator('[aria-pressed="true"]').count() == 1
    assert page.evaluate("document.activeElement.dataset.apartOf") == "9"
    content, rows = seen.download("#download-decided")
    assert [(row["id"][-5:-4], row["decision"], row["not_a_copy"]) for row in rows] == [
        ("1", "", "yes"),
        ("3", "", "yes"),
        ("9", "", "yes"),
    ]
    page.keyboard.press("u")
    assert group(seen, 7).locator('[aria-pressed="true"]').count() == 0
    other = visit(copies, "copies")
    other.import_text(content)
    assert "Loaded 3 decisions" in other.said() and other.download("#download-decided")[0] == content
    other.page.reload()
    other.page.wait_for_selector("html[data-ready]")
    assert group(other, 7).locator('[aria-pressed="true"]').count() == 1


def test_a_label_that_all_suggest_is_offered_besides(visit: Any, tmp_path: Path) -> None:
    """Both labels of a conflict may be wrong; where suggestions differ, only the given labels are offered."""
    page = make_page(6)
    table = replace(
        page.table,
        verdict=("duplicate conflict",) * 4 + ("clean",) * 2,
        label=("cat", "dog", "cat", "dog", "cat", "cat"),
        suggested_label=("bird", "bird", "bird", "frog", "", ""),
        duplicate_of=("", page.table.id[0], "", page.table.id[2], "", ""),
        copy=("", "near", "", "near", "", ""),
    )
    seen = visit(written(tmp_path, replace(page, table=table)), "copies")
    assert group(seen, 0).locator("[data-all-are]").all_inner_texts() == ["All are cat", "All are dog", "All are bird"]
    assert group(seen, 2).locator("[data-all-are]").all_inner_texts() == ["All are cat", "All are dog"]
    group(seen, 0).locator("[data-all-are]").last.click()
    _, rows = seen.download("#download-decided")
    assert [row["new_label"] for row in rows] == ["bird", "bird"]


def test_one_label_for_all_settles_a_conflict(visit: Any, copies: Path) -> None:
    seen = visit(copies, "copies")
    dog = CLASSES.index("dog")
    group(seen, 7).locator(f'[data-all-are="{dog}"]').click()
    rows = {row["id"][-6:-4]: row for row in seen.download("#download-decided")[1]}
    assert {name: (row["decision"], row["new_label"]) for name, row in rows.items()} == {
        "07": ("accept", "dog"),
        "08": ("relabel", "dog"),
        "09": ("keep", "dog"),
    }
    group(seen, 7).locator("[data-all-apart]").click()
    assert group(seen, 7).locator('.member[data-apart="true"]').count() == 3
    group(seen, 7).locator(".show-image").first.click()
    assert seen.page.is_visible("#panel-review") and "The same picture" in seen.text("#detail")
    seen.page.click('#detail [data-action="apart"]')
    assert "not the same picture" not in seen.text("#detail .decision")


def decided(seen: Any) -> dict[str, tuple[str, str]]:
    rows = seen.download("#download-decided")[1]
    return {row["id"][-6:-4]: (row["decision"], row["new_label"]) for row in rows}


def test_one_label_for_all_leaves_decisions_by_hand_alone(visit: Any, copies: Path) -> None:
    seen = visit(copies, "copies")
    cat, dog = (group(seen, 7).locator(f'[data-all-are="{CLASSES.index(name)}"]') for name in ("cat", "dog"))
    group(seen, 7).locator(".show-image").nth(1).click()
    seen.page.keyboard.press("f")
    seen.page.click("#tab-copies")
    dog.click()
    assert seen.said() == "2 copies are dog; 1 decided before was left alone"
    assert decided(seen) == {"07": ("accept", "dog"), "08": ("foreign", ""), "09": ("keep", "dog")}
    # What was decided with the group may be decided with it again, also after a reload.
    seen.page.wait_for_timeout(300)
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    cat.click()
    assert seen.said() == "2 copies are cat; 1 decided before was left alone"
    assert decided(seen) == {"07": ("keep", "cat"), "08": ("foreign", ""), "09": ("relabel", "cat")}
    seen.page.keyboard.press("u")
    assert decided(seen)["09"] == ("keep", "dog")


def test_one_label_for_all_says_where_it_is_so_already(visit: Any, copies: Path) -> None:
    seen = visit(copies, "copies")
    cat = group(seen, 7).locator(f'[data-all-are="{CLASSES.index("cat")}"]')
    cat.click()
    assert cat.get_attribute("aria-pressed") == "true"
    before = decided(seen)
    cat.click()
    assert seen.said() == "All are cat already" and decided(seen) == before
    seen.page.keyboard.press("u")
    assert cat.get_attribute("aria-pressed") == "false"


def test_one_label_for_all_changes_nothing_where_all_were_decided_by_hand(visit: Any, copies: Path) -> None:
    seen = visit(copies, "copies")
    group(seen, 1).locator("[data-apart-of]").first.click()
    before = decided(seen)
    all_are = group(seen, 1).locator("[data-all-are]")
    assert all_are.count() == 2 and group(seen, 1).locator('[data-all-are][aria-pressed="true"]').count() == 0
    all_are.first.click()
    assert seen.said().startswith("You decided on each of these images before") and decided(seen) == before


def test_one_label_that_the_audit_doubts_does_not_look_clean(visit: Any, tmp_path: Path) -> None:
    page = make_page(6)
    table = replace(
        page.table,
        verdict=("mislabelled", "mislabelled", *["clean"] * 4),
        label=("cat",) * 6,
        suggested_label=("dog", "dog", *["cat"] * 4),
        confidence=(0.9,) * 6,
        duplicate_of=("", page.table.id[0], "", page.table.id[2], "", ""),
        copy=("", "near", "", "near", "", ""),
    )
    seen = visit(written(tmp_path, replace(page, table=table)), "copies")
    verdicts = {first: group(seen, first).locator(".member-verdict").all_inner_texts() for first in (0, 2)}
    assert verdicts == {0: ["▲ called mislabelled: dog"] * 2, 2: ["● called clean"] * 2}
    assert seen.page.locator(".copy-head .mark").count() == 0
    assert group(seen, 0).locator(".member-state").all_inner_texts() == ["undecided"] * 2
    assert group(seen, 2).locator(".member-state").count() == 0
    for at in range(2):
        seen.page.click("#tab-copies")
        group(seen, 0).locator(".show-image").nth(at).click()
        seen.page.keyboard.press("s")
    seen.page.click("#tab-copies")
    head = group(seen, 0).locator(".copy-head").inner_text()
    assert " ".join(head.split()) == "2 images, labelled cat near copies, decided"
    assert group(seen, 0).locator(".member-state").all_inner_texts() == ["accepted: dog"] * 2


def test_a_page_without_copies_says_so(visit: Any, tmp_path: Path) -> None:
    page = make_page(20)
    table = replace(page.table, duplicate_of=("",) * 20, copy=())
    seen = visit(written(tmp_path, replace(page, table=table)), "copies")
    assert "No image repeats another." in seen.text("#panel-copies")
