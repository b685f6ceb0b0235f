"""The way through the list: keys without anything to take, searches beyond the filters, the next undecided image."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, make_table
from audit.page.page_visits import written

from lond.audit.page.write import ReviewPage

pytestmark = pytest.mark.slow

IDS = ("cat/a.png", "cat/b.png", "dog/c.png", "dog/d.png", "dog/e.png")
CURRENT = "document.querySelector('.tile.current .main').getAttribute('aria-label').split(',')[0]"


def five(**columns: Any) -> ReviewPage:
    """Return two clean images, one mislabelled, one foreign and an unsure one, all with chances."""
    table = replace(
        make_table(5),
        id=IDS,
        path=IDS,
        verdict=("clean", "clean", "mislabelled", "foreign", "clean"),
        label=("cat", "cat", "dog", "dog", "dog"),
        suggested_label=("cat", "cat", "cat", "", "dog"),
        confidence=(0.97, 0.95, 0.8, 0.9, 0.45),
        foreign_score=(0.01, 0.01, 0.05, 0.9, 0.35),
        wrong_score=(0.02, 0.04, 0.85, 0.06, 0.2),
        p_value=(math.nan,) * 5,
        duplicate_of=("",) * 5,
        copy=("",) * 5,
        quality=((),) * 5,
    )
    return ReviewPage("Five", replace(table, **columns), CLASSES, {}, None, lambda row: None)


@pytest.fixture
def seen(visit: Any, tmp_path: Path) -> Any:
    started = visit(written(tmp_path, five()))
    started.page.click("#show-all")
    started.page.select_option("#sort", "path")
    return started


def test_the_key_of_the_suggestion_does_nothing_without_one(seen: Any) -> None:
    for place in (0, 3, 4):
        seen.choose(place)
        assert seen.page.locator('#detail [data-action="accept"]').is_disabled()
        seen.page.keyboard.press("s")
        assert seen.said().startswith("There is no suggestion for ") and "undecided" in seen.tiles()[place]
        assert seen.page.evaluate(CURRENT) == IDS[place].split("/")[1]
    seen.choose(2)
    seen.page.keyboard.press("s")
    assert "accepted: cat" in seen.tiles()[2]


def test_the_file_says_what_the_dialog_says(seen: Any) -> None:
    for place, key in ((0, "a"), (1, "g"), (2, "a"), (3, "a"), (4, "r")):
        seen.choose(place)
        seen.page.keyboard.press(key)
    words = "1 changed as suggested, 2 kept as labelled, 1 marked foreign, 1 marked not sure (left as is)"
    assert words in seen.page.text_content("#decisions-text")
    rows = seen.download("#download-decided")[1]
    assert [(row["decision"], row["new_label"]) for row in rows] == [
        ("keep", "cat"),
        ("keep", "cat"),
        ("accept", "cat"),
        ("foreign", ""),
        ("not sure", ""),
    ]


def test_images_without_a_suggestion_are_left_alone_among_others(seen: Any) -> None:
    seen.page.click("#select-shown")
    seen.page.keyboard.press("s")
    assert seen.said() == "Accepted: 1 image; 4 images without a suggestion to accept stay as they are"
    assert ["undecided" in label for label in seen.tiles()] == [True, True, False, True, True]


def test_a_search_reaches_beyond_the_filters(visit: Any, tmp_path: Path) -> None:
    seen = visit(written(tmp_path, five()))
    page = seen.page
    page.fill("#filter-text", "b.png")
    seen.until("!document.querySelector('#show-outside').hidden")
    assert seen.text("#show-outside") == "1 match outside the filters: show"
    assert "No image that the filters leave" in seen.text("#gallery-empty")
    page.click("#gallery-empty button")
    assert seen.text("#shown") == "1 of 5 images" and page.input_value("#filter-text") == "b.png"
    assert not page.is_visible("#show-outside")
    page.click("#reset")
    assert page.input_value("#filter-text") == ""
    page.fill("#filter-text", "dog/")
    seen.until("document.querySelector('#shown').textContent.startsWith('3 ')")
    assert not page.is_visible("#show-outside")
    page.fill("#filter-text", "png")
    seen.until("!document.querySelector('#show-outside').hidden")
    assert seen.text("#show-outside") == "2 matches outside the filters: show"
    page.click("#show-all")
    assert seen.text("#shown") == "All 5 images" and page.input_value("#filter-text") == "png"
    page.fill("#filter-text", "zebra")
    seen.until("document.querySelector('#shown').textContent.startsWith('0 ')")
    assert "No image has “zebra”" in seen.text("#gallery-empty")
    page.click("#gallery-empty button")
    assert seen.text("#shown") == "All 5 images"


def test_goes_to_the_next_undecided_image_after_a_reload_too(seen: Any) -> None:
    page = seen.page
    seen.choose(0)
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.wait_for_timeout(300)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.keyboard.press("n")
    assert page.evaluate(CURRENT) == "c.png"
    page.keyboard.press("n")
    assert page.evaluate(CURRENT) == "d.png"
    page.click("#next-undecided")
    page.click("#next-undecided")
    assert page.evaluate(CURRENT) == "c.png"
    page.click("#select-shown")
    page.keyboard.press("g")
    page.keyboard.press("n")
    assert seen.said() == "Every image of this list is decided"


def test_a_chance_has_an_axis_from_0_to_1_and_true_minus_signs(visit: Any, tmp_path: Path) -> None:
    seen = visit(written(tmp_path, five(neighbour_margin=(0.5, -0.4074, 0.1, 0.2, 0.3))), "overview")
    ticks = seen.page.locator(".histogram").first.locator(".tick").all_inner_texts()
    assert ticks == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    seen.page.click("#tab-review")
    seen.page.click("#show-all")
    seen.page.select_option("#sort", "path")
    seen.choose(1)
    assert "−0.4074" in seen.text("#detail .scores")


def test_images_that_coincide_on_the_map_can_all_be_pointed_at(visit: Any, tmp_path: Path) -> None:
    page = replace(five(), positions=[(0.0, 0.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)])
    seen = visit(written(tmp_path, page), "map")
    seen.page.click("#show-all")
    seen.until("document.querySelector('.map').dataset.drawn === '5'")
    box = seen.page.locator(".map").bounding_box()
    found = set()
    for x in range(int(box["width"] * 0.6), int(box["width"]), 6):
        for y in range(int(box["height"]) - 60, int(box["height"]), 6):
            seen.page.mouse.move(box["x"] + x, box["y"] + y)
            found |= {seen.text("#tip small")} if seen.page.is_visible("#tip") else set()
    assert found == {"b.png", "c.png", "d.png", "e.png"}


def test_a_decision_done_again_moves_on_as_it_did(seen: Any) -> None:
    seen.choose(1)
    seen.page.keyboard.press("g")
    assert seen.page.evaluate(CURRENT) == "c.png"
    seen.page.keyboard.press("u")
    assert seen.page.evaluate(CURRENT) == "b.png"
    seen.page.keyboard.press("Shift+U")
    assert seen.page.evaluate(CURRENT) == "c.png" and "label kept" in seen.tiles()[1]


def test_enter_in_the_search_box_moves_to_the_first_match(seen: Any) -> None:
    page = seen.page
    page.fill("#filter-text", "zebra")
    page.press("#filter-text", "Enter")
    assert page.evaluate("document.activeElement.id") == "filter-text"
    page.fill("#filter-text", "png")
    page.press("#filter-text", "Enter")
    first = seen.tiles()[0].split(",")[0]
    assert page.evaluate(CURRENT) == first and page.evaluate("document.activeElement.className") == "main"
    assert not page.locator("#detail.open").count()
    page.keyboard.press("f")
    assert "marked foreign" in seen.tiles()[0] and page.input_value("#filter-text") == "png"
    page.click("#tab-map")
    page.fill("#filter-text", first)
    page.press("#filter-text", "Enter")
    assert first in seen.text("#detail h2") and page.evaluate("document.activeElement === document.body")


def test_no_key_decides_on_an_image_that_has_left_the_list(seen: Any) -> None:
    page = seen.page
    seen.choose(3)
    page.locator("#chips .chip", has_text="mislabelled").click()
    assert "Choose an image" in seen.text("#detail") and not page.locator(".tile.current").count()
    page.keyboard.press("f")
    assert page.evaluate(CURRENT) == "c.png" and seen.text("#progress-text").startswith("0 of")
    page.keyboard.press("f")
    assert "marked foreign" in seen.tiles()[0] and seen.text("#progress-text").startswith("1 of")
    # What stays in the list stays open.
    page.click("#show-all")
    assert page.evaluate(CURRENT) == "c.png"
    page.fill("#filter-text", "zebra")
    seen.until("document.querySelector('#shown').textContent.startsWith('0 ')")
    assert "Choose an image" in seen.text("#detail")


def test_a_decision_beside_the_list_says_so(visit: Any, tmp_path: Path) -> None:
    table = five().table
    near = tuple((IDS[0],) for _ in IDS)
    seen = visit(written(tmp_path, five(neighbours=near)))
    assert len(table) == 5 and len(seen.tiles()) == 3
    seen.choose(0)
    first = seen.page.evaluate(CURRENT)
    seen.page.click("#detail .linked")
    assert "not in the list" in seen.text("#detail")
    seen.page.keyboard.press("f")
    assert seen.said() == "Marked foreign: a.png, which is not in the list"
    assert seen.page.locator(".tile.current").count() == 0 and "a.png" in seen.text("#detail")
    seen.choose(0)
    seen.page.keyboard.press("f")
    assert seen.said() == f"Marked foreign: {first}"


def test_the_image_after_the_last_undecided_one_is_open_when_only_these_are_listed(seen: Any) -> None:
    page = seen.page
    page.select_option("#filter-decision", "undecided")
    seen.choose(4)
    page.keyboard.press("f")
    assert page.evaluate(CURRENT) == "d.png"
    for _ in range(4):
        page.keyboard.press("f")
    assert "Choose an image" in seen.text("#detail") and "Nothing undecided is left here" in seen.text("#gallery-empty")
    page.keyboard.press("u")
    assert len(seen.tiles()) == 1


def second() -> ReviewPage:
    """Return the same after a second look: the first was kept, the third accepted, the fourth accepted as foreign."""
    page = five(
        decided=("keep", "", "accept", "accept", ""),
        confidence=(1.0, 0.95, 1.0, 1.0, 0.45),
        wrong_score=(0.0, 0.04, 1.0, 0.0, 0.2),
        foreign_score=(0.0, 0.01, 0.0, 1.0, 0.35),
    )
    judged = {IDS[0]: ["mislabelled", "dog", 0.63], IDS[3]: ["foreign", "", 0.9]}
    return replace(page, summary={"second_look": {"judged": judged}})


@pytest.fixture
def again(visit: Any, tmp_path: Path) -> Any:
    started = visit(written(tmp_path, second()))
    started.page.click("#show-all")
    started.page.select_option("#sort", "path")
    return started


def test_what_you_decided_before_is_told_as_yours(again: Any) -> None:
    captions = [" ".join(again.text(f'.tile[aria-posinset="{at}"] .caption').split()) for at in (1, 3, 4)]
    assert captions == ["cat ● you: cat", "dog → cat ▲ you: cat", "dog → foreign ■ you: foreign"]
    again.choose(0)
    assert "The audit had called it mislabelled, suggested dog (63.0 %)." in again.text("#yours")
    assert "by your earlier decision" in again.text("#detail .verdict") and "100" not in again.text("#detail")
    again.page.keyboard.press("f")
    assert "you before: cat" in again.text('.tile[aria-posinset="1"] .caption')
    again.choose(2)
    assert again.text("#yours") == "You decided on this image before it was judged again."


def test_a_loaded_file_is_compared_by_its_labels(again: Any) -> None:
    lines = [
        "id,label,verdict,suggested_label,decision,new_label",
        "cat/a.png,cat,clean,cat,accept,cat",
        "dog/c.png,dog,unlabelled,,relabel,cat",
        "dog/d.png,dog,foreign,,foreign,",
        "cat/b.png,cat,mislabelled,dog,accept,dog",
        "dog/e.png,dog,foreign,,accept,",
    ]
    again.import_text("\n".join(lines))
    assert (
        again.said() == "Loaded 5 decisions" and again.text("#progress-rest") == "+ 2 others = 5: 3 from before, 2 new"
    )
    assert "relabelled: dog" in again.tiles()[1] and "marked foreign" in again.tiles()[4]
