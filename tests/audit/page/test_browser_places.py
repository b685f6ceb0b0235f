"""Where things are on the page: the focus after a decision, messages, labels on phones, and the map up close."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import make_page
from audit.page.page_visits import written
from PIL import Image

pytestmark = pytest.mark.slow

PLACES = """() => [
    document.activeElement.closest('.tile')?.getAttribute('aria-posinset'),
    document.querySelector('.tile.current')?.getAttribute('aria-posinset'),
    document.querySelector('.sheet-head .number').textContent.split(' / ')[0],
]"""


def overlap(seen: Any, one: str, other: str) -> bool:
    first, second = (seen.page.locator(name).bounding_box() for name in (one, other))
    apart = [first[at] + first[size] <= second[at] or second[at] + second[size] <= first[at] for at, size in AXES]
    return not any(apart)


AXES = (("x", "width"), ("y", "height"))


@pytest.mark.parametrize(("decision", "expected"), [("undecided", "1"), ("", "6")])
def test_focus_and_current_image_go_on_together(visit: Any, usual: Path, decision: str, expected: str) -> None:
    seen = visit(usual)
    seen.page.select_option("#filter-decision", decision)
    sixth = seen.tiles()[5].split(",")[0]
    seen.choose(0)
    seen.page.locator(".tile .main").nth(4).click(modifiers=["Shift"])
    seen.page.keyboard.press("a")
    assert seen.page.evaluate(PLACES) == [expected] * 3
    assert seen.text("#detail h2").endswith(sixth)
    seen.page.keyboard.press("g")
    assert sixth in seen.said()
    places = seen.page.evaluate(PLACES)
    assert len(set(places)) == 1


def test_without_moving_on_the_first_of_the_decided_images_is_current(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.evaluate("document.querySelector('#move-on').checked = false")
    seen.choose(2)
    seen.page.locator(".tile .main").nth(4).click(modifiers=["Shift"])
    seen.page.keyboard.press("f")
    assert seen.page.evaluate(PLACES) == ["3"] * 3


def test_a_message_covers_no_bar_and_goes_with_its_tab(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.choose(0)
    seen.page.keyboard.press("f")
    seen.page.keyboard.press("x")
    seen.page.wait_for_timeout(400)
    assert seen.page.is_visible("#toast") and not overlap(seen, "#toast", "#selection")
    seen.page.click("#tab-copies")
    seen.page.wait_for_timeout(400)
    assert not seen.page.is_visible("#toast")


def test_a_message_in_a_dialog_stands_above_its_buttons(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.click("#open-decisions")
    with seen.page.expect_download():
        seen.page.click("#download-all")
    for control in ("#decisions-title", "#decisions form > button:first-of-type", "#clear"):
        assert not overlap(seen, "#toast", control), control
    assert seen.page.is_visible("#toast") and seen.page.is_visible("#decisions")


def test_a_phone_shows_labels_and_no_keys(visit: Any, usual: Path) -> None:
    seen = visit(usual, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    assert seen.text("#filters summary").split() == ["Filters", "(doubts)"]
    for label in ("#order-word", "#group-field span"):
        assert seen.page.locator(label).bounding_box()["width"] > 20
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    seen.choose(0)
    assert not seen.page.locator("#detail .choices kbd").first.is_visible()


def test_filters_count_what_a_person_set(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    active = "document.querySelector('#filters-active').textContent"
    seen.page.select_option("#filter-decision", "undecided")
    assert seen.page.evaluate(active) == "(doubts, 1 set)"
    seen.page.click("#show-all")
    assert seen.page.evaluate(active) == ""
    seen.page.locator("#chips .chip", has_text="clean").click()
    assert seen.page.evaluate(active) == "(1 set)"


@pytest.mark.parametrize("colour", ["verdict", "class"])
def test_the_map_marks_what_is_decided(visit: Any, usual: Path, colour: str) -> None:
    seen = visit(usual, "map")
    seen.page.select_option("#colour", colour)
    seen.until("document.querySelector('.map').dataset.drawn > 0")
    picture = "document.querySelector('.map').toDataURL()"
    before, now = "", seen.page.evaluate(picture)
    while now != before:
        # The new colours are drawn a moment later.
        seen.page.wait_for_timeout(200)
        before, now = now, seen.page.evaluate(picture)
    seen.page.click("#select-shown")
    seen.page.keyboard.press("f")
    seen.until(f"{picture} !== '{before}'")
    seen.page.click("#undo")
    seen.until(f"{picture} === '{before}'")
    assert "points with a hole are decided" in seen.text("#panel-map")


def test_the_map_is_never_zoomed_empty(visit: Any, usual: Path) -> None:
    seen = visit(usual, "map")
    box = seen.page.locator(".map").bounding_box()
    seen.page.click("#show-all")
    for x, y in ((0.5, 0.5), (0.3, 0.4)):
        seen.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        for _ in range(30):
            seen.page.mouse.wheel(0, -500)
        seen.page.wait_for_timeout(300)
        assert int(seen.page.get_attribute(".map", "data-drawn")) > 0
    seen.page.get_by_role("button", name="Whole map").click()
    assert not seen.page.is_visible("#tip")


def test_a_second_look_says_why_estimates_move(visit: Any, tmp_path: Path, usual: Path) -> None:
    page = make_page(60)
    words = tuple("keep" if row < 3 else "" for row in range(60))
    seen = visit(written(tmp_path, replace(page, table=replace(page.table, decided=words))), "overview")
    assert "may rise as well as fall" in seen.text("#second-rates")
    assert not visit(usual, "overview").page.locator("#second-rates").count()


def test_copies_tell_the_size_and_format_of_their_files(visit: Any, tmp_path: Path) -> None:
    page = make_page(6)
    names = tuple(f"cat/{row}.png" for row in range(6))
    (tmp_path / "cat").mkdir()
    for row in (0, 1):
        Image.new("RGB", (40 + 20 * row, 30)).save(tmp_path / names[row])
    table = replace(
        page.table,
        id=names,
        path=names,
        label=("cat",) * 6,
        verdict=("clean",) * 6,
        duplicate_of=("", names[0], "", names[2], "", ""),
        copy=("", "near", "", "near", "", ""),
    )
    seen = visit(written(tmp_path, replace(page, table=table, folder=tmp_path)), "copies")
    assert seen.page.locator(".member-facts").all_inner_texts() == ["40 × 30 · PNG · 1 kB", "60 × 30 · PNG · 1 kB"]
    assert "undecided" not in seen.text("#copies-list") and "--drop-copies" in seen.text("#panel-copies")
    seen.page.click('[data-apart-of="1"]')
    assert seen.page.locator(".member-state").all_inner_texts() == ["not the same picture"] * 2
