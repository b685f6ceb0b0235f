"""Which answer the page offers first, and that neither panel nor dialogs push what matters out of sight."""

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


def torn() -> ReviewPage:
    """Return images called mislabelled: perhaps rather foreign, nearly anything, surely another class; one of each."""
    table = replace(
        make_table(3),
        id=("a.png", "b.png", "c.png"),
        path=("a.png", "b.png", "c.png"),
        verdict=("mislabelled",) * 3,
        label=("cat",) * 3,
        suggested_label=("dog",) * 3,
        confidence=(0.11, 0.3, 0.9),
        wrong_score=(0.2, 0.33, 0.92),
        foreign_score=(0.6, 0.32, 0.03),
        p_value=(math.nan,) * 3,
        duplicate_of=("",) * 3,
        copy=("",) * 3,
        quality=((),) * 3,
    )
    return ReviewPage("Torn", table, CLASSES, {"wrong_threshold": 0.4}, None, lambda row: None)


@pytest.fixture
def seen(visit: Any, tmp_path: Path) -> Any:
    started = visit(written(tmp_path, torn()))
    started.page.select_option("#sort", "path")
    return started


def buttons(seen: Any, place: int) -> list[str]:
    return list(seen.page.locator(f'.tile[aria-posinset="{place}"] .quick button').all_inner_texts())


def test_the_likeliest_answer_comes_first(seen: Any) -> None:
    assert [buttons(seen, place) for place in (1, 2, 3)] == [
        ["foreign", "dog"],
        ["keep cat", "dog"],
        ["dog", "keep cat"],
    ]
    mains = []
    for place in range(3):
        seen.choose(place)
        mains.append(seen.page.locator("#detail .choices .solid").all_inner_texts())
        names = seen.page.eval_on_selector_all(
            "#detail .choices button", "(all) => all.map((one) => one.dataset.action)"
        )
        assert sorted(names) == ["accept", "foreign", "keep", "reject"]
    assert [[text.split("\n")[0] for text in texts] for texts in mains] == [
        ["Likeliest: foreign"],
        ["Likeliest: keep cat"],
        ["Accept: dog"],
    ]
    seen.choose(0)
    for _ in range(3):
        seen.page.keyboard.press("a")
    said = ["marked foreign", "label kept: cat", "accepted: dog"]
    assert [words in label for words, label in zip(said, seen.tiles(), strict=True)] == [True] * 3
    seen.choose(0)
    seen.page.keyboard.press("s")
    assert "accepted: dog" in seen.tiles()[0]


def test_accepting_many_takes_the_likeliest_answers_and_says_so(seen: Any) -> None:
    words = "1 as foreign and 1 with the label kept, which is likelier than the suggestion"
    seen.page.click("#select-shown")
    assert words in seen.text("#selection-note")
    seen.page.keyboard.press("a")
    assert seen.said() == f"Accepted: 3 images, of them {words}"
    assert ["accepted: dog" in label for label in seen.tiles()] == [False, False, True]
    seen.page.keyboard.press("u")
    seen.page.click("#select-shown")
    seen.page.click("#take-suggested")
    assert ["accepted: dog" in label for label in seen.tiles()] == [True] * 3
    seen.page.keyboard.press("u")
    seen.page.click("#open-bulk")
    # By the chance of the answer, not by that of a suggestion that is not taken.
    seen.page.fill("#bulk-sureness", "50")
    assert "2 suggestions will be accepted: 2 mislabelled. Of them 1 as foreign, which is" in seen.text("#bulk-text")
    seen.page.click("#bulk-accept")
    said = ["marked foreign", "undecided", "accepted: dog"]
    assert [words in label for words, label in zip(said, seen.tiles(), strict=True)] == [True] * 3


def test_a_doubtful_verdict_is_not_told_as_a_fact(seen: Any) -> None:
    seen.choose(1)
    assert "perhaps wrong 33.0 %" in seen.text("#detail .verdict") and "belong" not in seen.text("#detail .verdict")
    assert seen.page.locator('#detail [data-action="foreign"]').is_visible()
    seen.choose(2)
    assert "seems to belong to another class" in seen.text("#detail .verdict")


@pytest.mark.parametrize("height", [900, 757, 600])
def test_only_list_and_panel_scroll(visit: Any, usual: Path, height: int) -> None:
    seen = visit(usual, viewport={"width": 1440, "height": height})
    seen.choose(0)
    tall = "[document.documentElement.scrollHeight, document.body.scrollHeight]"
    assert seen.page.evaluate(tall) == [height, height]
    panel = seen.page.locator("#detail")
    assert panel.evaluate("(node) => node.scrollHeight > node.clientHeight")


def test_the_tip_of_a_card_names_every_chance(seen: Any) -> None:
    lines = seen.page.get_attribute('.tile[aria-posinset="1"] .main', "title").split("\n")
    assert lines[2:6] == [
        "11.0 % chance that the true label is dog",
        "20.0 % chance that the given label is right",
        "20.0 % chance that the label is wrong (another class)",
        "60.0 % chance that the image is foreign (no class)",
    ]


def test_buttons_stay_in_place_from_image_to_image(seen: Any) -> None:
    places = set()
    for place in range(3):
        seen.choose(place)
        places.add(seen.page.locator("#detail .main-choice").bounding_box()["y"])
    assert len(places) == 1


@pytest.mark.parametrize("height", [900, 768, 500])
def test_keys_open_at_their_top_with_the_way_out_in_sight(visit: Any, usual: Path, height: int) -> None:
    seen = visit(usual, viewport={"width": 1440, "height": height})
    for opening in ("click", "key"):
        if opening == "click":
            seen.page.click("#open-help")
        else:
            seen.page.keyboard.press("?")
        assert seen.page.locator("#help").evaluate("(node) => node.scrollTop") == 0
        dialog = seen.page.locator("#help").bounding_box()
        close = seen.page.locator("#help form button").bounding_box()
        assert close["y"] + close["height"] <= min(height, dialog["y"] + dialog["height"])
        seen.page.keyboard.press("Escape")


def test_forgetting_stands_apart_from_downloading(seen: Any) -> None:
    seen.choose(0)
    seen.page.keyboard.press("f")
    seen.page.click("#open-decisions")
    colour = "(node) => getComputedStyle(node).color"
    assert seen.page.locator("#clear").evaluate(colour) != seen.page.locator("#download-all").evaluate(colour)
    assert not seen.page.locator(".stack #clear").count()
    seen.page.click("#clear")
    assert seen.said() == "Forgot 1 decision" and "undecided" in seen.tiles()[0]
    seen.page.click("#toast-undo")
    assert "marked foreign" in seen.tiles()[0]


def test_a_message_lies_above_an_open_dialog(seen: Any) -> None:
    seen.page.click("#open-decisions")
    with seen.page.expect_download():
        seen.page.click("#download-all")
    seen.page.wait_for_timeout(400)
    on_top = """() => {
        const box = document.querySelector('#toast').getBoundingClientRect();
        return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2).closest('#toast') !== null;
    }"""
    assert seen.page.evaluate(on_top)
    seen.page.keyboard.press("Escape")
    seen.until("document.querySelector('#toast').parentElement === document.body")


def test_the_dialog_says_what_becomes_of_undecided_images(seen: Any) -> None:
    seen.page.click("#open-decisions")
    assert "left undecided keep their given label in corrected_labels.csv" in seen.text("#download-all-note")
    assert "lond apply also acts on images that you left undecided" in seen.text("#next-steps")
