"""Many images at once: selected by click, key, frame or filter, and decided on together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, doubtful, make_page, make_table
from audit.page.page_visits import ROWS, written

pytestmark = pytest.mark.slow
DOUBTS = ("mislabelled", "foreign", "duplicate conflict")


def selected(seen: Any) -> int:
    text = seen.page.text_content("#selection-text")
    return int(text.split()[0].replace(",", "")) if text else 0


def click(seen: Any, number: int, *keys: str) -> None:
    seen.page.locator(".tile .main").nth(number).click(modifiers=list(keys))


def test_clicks_select_a_range_and_single_images(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    assert not seen.page.is_visible("#selection")
    click(seen, 1)
    assert selected(seen) == 0
    click(seen, 4, "Shift")
    assert selected(seen) == 4 and ["selected" in label for label in seen.tiles()[:6]] == [False, *[True] * 4, False]
    click(seen, 6, "Control")
    click(seen, 2, "Control")
    assert selected(seen) == 4
    click(seen, 8, "Shift")
    # From the image that was clicked last.
    assert selected(seen) == 9 - 1
    seen.page.click("#deselect")
    assert selected(seen) == 0 and not seen.page.is_visible("#selection")
    seen.page.locator(".tile").nth(3).hover()
    seen.page.locator(".tile .pick").nth(3).click()
    assert selected(seen) == 1 and seen.page.locator('.pick[aria-checked="true"]').count() == 1


def test_a_frame_selects_what_it_touches_and_scrolls(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    boxes = [page.locator(".tile .main").nth(number).bounding_box() for number in (0, 1)]
    page.mouse.move(boxes[0]["x"] + 60, boxes[0]["y"] + 60)
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + 30, boxes[1]["y"] + 90, steps=4)
    page.mouse.up()
    assert selected(seen) == 2 and page.locator(".frame").is_hidden()
    assert page.locator(".tile.current").count() == 0
    gallery = page.locator("#gallery").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(boxes[1]["x"] + boxes[1]["width"] + 5, boxes[1]["y"] + 20)
    page.mouse.down()
    page.mouse.move(gallery["x"] + gallery["width"] - 30, gallery["y"] + gallery["height"] + 30, steps=4)
    seen.until("document.querySelector('#gallery').scrollTop > 300")
    page.mouse.up()
    page.keyboard.up("Shift")
    assert selected(seen) > 8
    # Where the list stops depends on the machine's speed: frame within a tile, away from the edges that scroll.
    page.wait_for_timeout(100)
    boxes = [box for box in (tile.bounding_box() for tile in page.locator(".tile .main").all()) if box]
    top, bottom = gallery["y"] + 40, gallery["y"] + gallery["height"] - 40
    inside = next(box for box in boxes if top < box["y"] + 40 and box["y"] + 60 < bottom)
    page.mouse.move(inside["x"] + 50, inside["y"] + 40)
    page.mouse.down()
    page.mouse.move(inside["x"] + 70, inside["y"] + 60, steps=4)
    page.mouse.up()
    assert selected(seen) == 1


@pytest.mark.parametrize(
    ("action", "key", "word"),
    [("accept", "a", "accept"), ("not sure", "r", "not sure"), ("keep", "g", "keep"), ("foreign", "f", "foreign")],
)
@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_decides_on_all_that_the_filters_leave(
    visit: Any, usual: Path, action: str, key: str, word: str, how: str
) -> None:
    seen, table = visit(usual), make_table(ROWS)
    page = seen.page
    page.click("#show-all")
    page.locator("#chips .chip", has_text="mislabelled").click()
    page.select_option("#filter-given", str(CLASSES.index("cat")))
    expected = [
        name
        for name, label, verdict in zip(table.id, table.label, table.verdict, strict=True)
        if (label, verdict) == ("cat", "mislabelled")
    ]
    if how == "mouse":
        page.click("#select-shown")
        assert selected(seen) == len(expected)
        page.click(f'[data-selection="{action}"]')
    else:
        page.locator(".tile .main").first.focus()
        page.keyboard.press("Control+a")
        page.keyboard.press(key)
    assert selected(seen) == 0
    rows = seen.download("#download-decided")[1]
    assert [row["id"] for row in rows] == expected and {row["decision"] for row in rows} == {word}
    page.click("#undo")
    assert seen.text("#progress-text").startswith("0 of")


def test_selects_and_decides_by_keyboard_alone(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    page.locator(".tile .main").first.focus()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert selected(seen) == 3
    page.keyboard.press("Shift+ArrowDown")
    more = selected(seen)
    assert more > 3
    page.keyboard.press("l")
    assert page.evaluate("document.activeElement.id") == "relabel-selected"
    page.select_option("#relabel-selected", str(CLASSES.index("frog")))
    assert seen.said().startswith(f"Relabelled as frog: {more} images")
    page.locator(".tile .main").first.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("c")
    assert seen.text("#progress-text").startswith("0 of")
    page.keyboard.press("Control+a")
    page.keyboard.press("Escape")
    assert selected(seen) == 0
    page.keyboard.press("u")
    assert seen.text("#progress-text").startswith(f"{more} of")


def test_accepting_leaves_images_without_a_suggestion_undecided(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    page.click("#show-all")
    page.click("#select-shown")
    assert selected(seen) == ROWS
    page.click('[data-selection="accept"]')
    assert seen.said().startswith("Accepted: ")
    page.click("#undo")
    assert seen.text("#decisions-text") == "" or "no image" in page.text_content("#decisions-text")


def test_what_is_filtered_out_is_no_longer_selected(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    seen.page.click("#select-shown")
    assert selected(seen) == sum(doubtful(table))
    seen.page.locator("#chips .chip", has_text="mislabelled").click()
    assert selected(seen) == table.verdict.count("mislabelled")


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_verdict_is_shown_alone_then_with_others(visit: Any, usual: Path, by: str) -> None:
    seen, table = visit(usual), make_table(ROWS)
    page = seen.page
    tally = {name: table.verdict.count(name) for name in DOUBTS}

    def click(name: str, says: str) -> None:
        chip = page.locator("#chips .chip", has_text=name)
        assert chip.get_attribute("title").endswith(says)
        chip.click() if by == "mouse" else chip.press("Space")

    def lit() -> list[str]:
        return [text.split("\n")[1] for text in page.locator('#chips [aria-pressed="true"]').all_inner_texts()]

    start = seen.text("#shown")
    assert len(lit()) == 4 and "belong to no known class" in page.locator(".chip", has_text="foreign").get_attribute(
        "title"
    )
    click("foreign", "show only these")
    assert lit() == ["foreign"] and seen.text("#shown").startswith(f"{tally['foreign']} of")
    click("mislabelled", "add these")
    assert lit() == ["mislabelled", "foreign"]
    assert seen.text("#shown").startswith(f"{tally['foreign'] + tally['mislabelled']} of")
    click("foreign", "remove these")
    assert lit() == ["mislabelled"]
    click("mislabelled", "show all images")
    assert lit() == [] and seen.text("#shown") == f"All {ROWS:,} images"
    click("clean", "show only these")
    assert lit() == ["clean"]
    page.click("#reset")
    assert seen.text("#shown") == start and len(lit()) == 4


def test_reset_restores_the_start(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    start = seen.tiles(), seen.text("#shown"), page.input_value("#sort"), page.input_value("#group")
    assert start[2:] == ("need", "")
    page.click("#show-all")
    assert seen.text("#shown") == f"All {ROWS:,} images"
    page.locator("#chips .chip", has_text="clean").click()
    page.locator("#quality-chips .chip", has_text="dark").click()
    page.select_option("#sort", "path")
    page.select_option("#group", "class")
    page.fill("#filter-text", "img_0")
    page.fill("#filter-sureness", "40")
    page.click("#select-shown")
    page.click("#reset")
    assert (seen.tiles(), seen.text("#shown"), page.input_value("#sort"), page.input_value("#group")) == start
    assert page.input_value("#filter-text") == "" and selected(seen) == 0


def test_needs_a_look_first_follows_the_order_of_the_table(visit: Any, usual: Path) -> None:
    from lond.audit.page.columns import need_order

    seen, table = visit(usual), make_table(ROWS)
    order = [row for row in need_order(table) if table.verdict[row] in DOUBTS[:2]][:8]
    for name in ("mislabelled", "foreign"):
        seen.page.locator("#chips .chip", has_text=name).click()
    assert [label.split(",")[0] for label in seen.tiles()[:8]] == [table.id[row].split("/")[1] for row in order]


def test_decisions_of_an_earlier_look_are_there_and_stay_forgotten(visit: Any, tmp_path: Path) -> None:
    page = make_page(60)
    wrong, clean = page.table.verdict.index("mislabelled"), page.table.verdict.index("clean")
    words = ["relabel" if row == wrong else "keep" if row == clean else "" for row in range(60)]
    seen = visit(written(tmp_path, replace(page, table=replace(page.table, decided=tuple(words)))))
    rows = seen.download("#download-decided")[1]
    assert [(row["id"], row["decision"]) for row in rows] == [
        (page.table.id[row], words[row]) for row in sorted((wrong, clean))
    ]
    told = {row["id"]: row["new_label"] for row in rows}
    assert told[page.table.id[wrong]] == page.table.suggested_label[wrong]
    assert told[page.table.id[clean]] == page.table.label[clean]
    # The order puts decided images last, and the page says that this is a second look.
    seen.page.click("#show-all")
    assert page.table.id[wrong].split("/")[1] not in [label.split(",")[0] for label in seen.tiles()[:8]]
    assert "This is a second look" in str(seen.page.text_content("#panel-about"))
    seen.page.click("#open-decisions")
    seen.page.click("#clear")
    seen.page.wait_for_timeout(400)
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert "no image yet" in str(seen.page.text_content("#decisions-text"))


def test_the_order_explains_itself(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.locator("#order-word .term").hover()
    assert seen.text("#explanation").startswith("The least sure verdicts come first")
    seen.page.click("#tab-map")
    assert not seen.page.is_visible("#order-word")


def test_decisions_that_a_selection_overwrites_are_told(visit: Any, usual: Path) -> None:
    """And while images are selected, the panel shows no keys: they decide on the selection."""
    seen = visit(usual)
    page = seen.page
    click(seen, 0)
    assert page.locator("#detail kbd").first.is_visible()
    page.keyboard.press("g")
    click(seen, 0)
    click(seen, 2, "Shift")
    assert selected(seen) == 3 and not page.locator("#detail kbd").first.is_visible()
    page.keyboard.press("f")
    assert seen.said() == "Marked foreign: 3 images; 1 of them had another decision"
    page.keyboard.press("u")
    click(seen, 1)
    click(seen, 2, "Shift")
    page.keyboard.press("f")
    assert seen.said() == "Marked foreign: 2 images"


def test_keeping_leaves_images_without_a_label_as_they_are(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    page.click("#show-all")
    page.click("#select-shown")
    page.click('[data-selection="keep"]')
    bare = make_table(ROWS).label.count("")
    assert bare and seen.said() == (
        f"Label kept: {ROWS - bare} images; {bare} images without a label to keep stay as they are"
    )


def test_arrows_move_in_the_list_after_a_click_on_a_filter(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    page.click("#show-all")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".tile.current", "aria-posinset") == "2"
    page.locator("#tab-review").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("location.hash") != "#review", "tabs keep their arrows"


def test_a_range_begins_where_the_person_is_after_deselecting(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    assert selected(seen) == 3
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+ArrowRight")
    assert selected(seen) == 2


@pytest.mark.parametrize("width", [1260, 1280, 1440])
def test_the_count_of_many_doubts_lies_beside_the_tabs(visit: Any, usual: Path, width: int) -> None:
    seen = visit(usual, viewport={"width": width, "height": 800})
    seen.page.evaluate("document.querySelector('#progress-text').textContent = '39,382 of 39,382 doubts decided'")
    tabs, count = (seen.page.locator(part).bounding_box() for part in (".tabs", ".progress"))
    assert tabs["x"] + tabs["width"] <= count["x"]
