"""What a person chooses from on the page: which images are doubts, what the buttons say, and what follows."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, make_page, make_table
from audit.page.page_visits import written

from lond.audit.page.write import ReviewPage
from lond.audit.saved import next_commands

pytestmark = pytest.mark.slow

VERDICTS = ("clean", "clean", "clean", "foreign", "mislabelled", "unreadable")


def few() -> ReviewPage:
    """Return six images with chances: two unsure ones that were called clean, and a sure one."""
    table = replace(
        make_table(6),
        verdict=VERDICTS,
        label=("cat",) * 6,
        suggested_label=("cat", "cat", "cat", "", "dog", ""),
        confidence=(0.3, 0.45, 0.97, 0.8, 0.7, math.nan),
        foreign_score=(0.63, 0.05, 0.01, 0.8, 0.1, math.nan),
        wrong_score=(0.07, 0.5, 0.02, 0.15, 0.75, math.nan),
        p_value=(math.nan,) * 6,
        duplicate_of=("",) * 6,
        copy=("",) * 6,
    )
    return ReviewPage("Few", table, CLASSES, {}, None, lambda row: None)


@pytest.fixture
def seen(visit: Any, tmp_path: Path) -> Any:
    return visit(written(tmp_path, few()))


def test_an_unsure_clean_image_is_a_doubt_and_says_what_it_may_be(seen: Any) -> None:
    assert seen.text("#shown") == "4 of 6 images: the doubts" and seen.text("#progress-text") == "0 of 4 doubts decided"
    assert seen.text("#unsure-chip .number") == "2"
    facts = [" ".join(seen.text(f'.tile[aria-posinset="{place}"] .facts').split()) for place in (1, 2)]
    assert facts == ["◐ unsure: or cat 30 %", "◐ unsure: or another label 50 %"]
    seen.choose(0)
    assert "unsure" in seen.text("#detail .verdict") and "Called clean because" in seen.text("#detail")
    assert "foreign is likelier" in seen.text("#detail .verdict") and "agrees" not in seen.text("#detail")
    assert " ".join(seen.text("#detail .big").split()) == "cat → foreign 63.0 %"
    seen.page.keyboard.press("g")
    assert seen.text("#progress-text") == "1 of 4 doubts decided"
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert seen.text("#shown") == "4 of 6 images: the doubts"
    seen.page.click("#unsure-chip")
    assert seen.text("#shown") == "2 of 6 images"


def test_no_on_a_card_keeps_the_label_and_r_skips(seen: Any) -> None:
    place = next(at for at, label in enumerate(seen.tiles()) if "mislabelled, given" in label)
    tile = seen.page.locator(f'.tile[aria-posinset="{place + 1}"]')
    tile.hover()
    assert tile.locator(".no").get_attribute("title").startswith("keep cat (G): the label is right")
    tile.locator(".no").click()
    assert "label kept: cat" in seen.tiles()[place]
    assert tile.locator(".no").get_attribute("aria-pressed") == "true"
    seen.choose(place)
    seen.page.keyboard.press("r")
    assert "not sure" in seen.tiles()[place]
    assert "teaches nothing" in seen.page.get_attribute('#detail [data-action="not sure"]', "title")
    assert "counts as truth" in seen.page.get_attribute('#detail [data-action="keep"]', "title")


def test_buttons_on_a_card_say_what_they_do(seen: Any) -> None:
    seen.page.click("#show-all")
    found = {}
    for place, label in enumerate(seen.tiles(), 1):
        tile = seen.page.locator(f'.tile[aria-posinset="{place}"]')
        facts = " ".join(tile.locator(".facts").inner_text().split())
        found[label.split(", ")[1], facts] = [button.inner_text() for button in tile.locator(".quick button").all()]
    assert found == {
        ("unsure", "◐ unsure: or cat 30 %"): ["foreign", "keep cat"],
        ("unsure", "◐ unsure: or another label 50 %"): ["keep cat", "other label"],
        ("clean", "● or another label 2 %"): ["keep cat", "other label"],
        ("foreign", "■ or another label 15 %"): ["foreign", "other label"],
        ("mislabelled", "▲ or cat 15 %"): ["dog", "keep cat"],
        ("unreadable", "✕ unreadable –"): ["leave out", "not sure"],
    }


def test_buttons_of_a_doubt_do_what_they_say(seen: Any) -> None:
    foreign, wrong = (seen.page.locator(f'.tile[aria-posinset="{place}"]') for place in (1, 2))
    foreign.hover()
    foreign.locator(".yes").click()
    assert "marked foreign" in seen.tiles()[0]
    foreign.locator(".no").click()
    assert "label kept: cat" in seen.tiles()[0]
    wrong.hover()
    wrong.locator(".no").click()
    assert seen.page.evaluate("document.activeElement.id") == "relabel"
    seen.page.keyboard.type("dog")
    seen.page.keyboard.press("Enter")
    assert "relabelled: dog" in seen.tiles()[1]
    seen.choose(1)
    assert seen.page.locator('#detail [data-action="accept"]').is_disabled()


def test_the_chosen_button_alone_is_filled(seen: Any) -> None:
    seen.page.evaluate("document.querySelector('#move-on').checked = false")
    seen.choose(1)
    colour = "(name) => getComputedStyle(document.querySelector(`#detail [data-action='${name}']`)).backgroundColor"
    filled = seen.page.evaluate(colour, "keep")
    seen.page.keyboard.press("f")
    seen.page.mouse.move(5, 5)
    found = {name: seen.page.evaluate(colour, name) == filled for name in ("accept", "not sure", "keep", "foreign")}
    assert found == {"accept": False, "not sure": False, "keep": False, "foreign": True}


def test_decisions_come_first_and_lead_to_the_next_commands(seen: Any) -> None:
    seen.choose(0)
    seen.page.keyboard.press("g")
    rows = seen.download()[1]
    assert [row["new_label"] for row in rows] == ["cat"] * 5 + [""]
    seen.page.click("#open-decisions")
    assert seen.page.locator("#decisions .solid").get_attribute("id") == "download-decided"
    assert "lond audit SOURCE --out audit --decisions decisions.csv" in seen.text("#next-steps")
    with seen.page.expect_download() as waiting:
        seen.page.click("#download-decided")
    assert waiting.value.suggested_filename == "decisions.csv"


def test_panel_gives_chances_as_percentages(seen: Any) -> None:
    place = next(at for at, label in enumerate(seen.tiles()) if ", foreign, given" in label)
    seen.choose(place)
    shown = " ".join(seen.text("#detail .chances").split())
    assert shown == "●Label right 5.0 % ▲Label wrong 15.0 % ■Foreign 80.0 %"
    text = seen.text("#detail")
    assert "suggested label" not in text and "p-value" not in text and "15.0 %" in text


def test_a_message_leaves_the_current_caption_in_sight(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    for place in range(12):
        seen.page.keyboard.press("j" if place % 2 else "ArrowDown")
        seen.page.keyboard.press("r")
        seen.page.wait_for_timeout(250)
        caption = seen.page.locator(".tile.current .caption").bounding_box()
        assert caption["y"] + caption["height"] <= seen.page.locator("#toast").bounding_box()["y"]


def test_overview_says_which_limits_verdicts_pass(visit: Any, tmp_path: Path) -> None:
    told = replace(few(), summary=make_page(60).summary | {"threshold": 0.65, "wrong_threshold": 0.45})
    text = visit(written(tmp_path, told), "overview").text("#panel-overview")
    assert "Foreign: the probability that the image belongs to no class exceeds 65 %." in text
    assert "the label is wrong exceeds 45 %, given that the image is not foreign" in text


def test_every_percentage_on_a_card_is_the_chance_of_the_word_before_it(visit: Any, tmp_path: Path) -> None:
    usual = few()
    table = replace(
        usual.table,
        verdict=("mislabelled", "mislabelled", "mislabelled", "foreign", "unlabelled", "clean"),
        label=("cat", "cat", "cat", "cat", "", "cat"),
        suggested_label=("dog", "dog", "dog", "", "dog", "cat"),
        confidence=(0.7, 0.2, 0.4, 0.8, 0.6, 0.9),
        wrong_score=(0.9, 0.3, 0.46, 0.1, 0.0, 0.05),
        foreign_score=(0.02, 0.55, 0.02, 0.8, 0.1, 0.05),
    )
    seen = visit(written(tmp_path, replace(usual, table=table)))
    seen.page.click("#show-all")
    seen.page.select_option("#sort", "path")
    tiles = [f'.tile[aria-posinset="{place}"] .caption' for place in range(1, 7)]
    captions = [" ".join(seen.text(tile).split()) for tile in tiles]
    alike, between = "cat → foreign 55 % ◐ unsure: or dog 20 %", "cat 52 % ◐ unsure: or dog 40 %"
    sure = "cat → dog 70 % ▲ or another label 20 %"
    assert set(captions) == {
        *(alike, between, sure, "cat → foreign 80 % ■ or another label 10 %"),
        *("no label → dog 60 % ✚ unlabelled", "cat 90 % ● or foreign 5 %"),
    }
    for caption, words in (
        (alike, "Foreign (55.0 %) is likelier than dog (20.0 %), but an image is called so only from 65 % on."),
        (between, "if the image is not foreign, is wrong with 46.9 % (limit 45 %)"),
    ):
        seen.choose(captions.index(caption))
        assert words in seen.text("#detail")
        assert words in seen.page.get_attribute(".tile.current .main", "title")
    buttons = f'.tile[aria-posinset="{captions.index(alike) + 1}"] .quick'
    assert seen.page.locator(buttons).inner_text().split() == ["foreign", "dog"]
    seen.choose(captions.index(sure))
    text = seen.text("#detail")
    assert "Called mislabelled because" not in text and "is likelier than" not in text


def test_more_foreign_images_than_are_called_so_lead_to_the_likeliest(visit: Any, tmp_path: Path) -> None:
    rates = {"foreign": {"estimate": 0.1, "low": 0.05, "high": 0.2}}
    page = make_page(1000)
    called = page.table.verdict.count("foreign")
    told = replace(
        page, summary={"rates": rates | {"foreign": rates["foreign"] | {"estimate": (2 * called + 20) / 1000}}}
    )
    seen = visit(written(tmp_path, told))
    # An image far down the list is open; the list begins at its top all the same.
    seen.page.select_option("#group", "verdict")
    seen.page.click("#show-all")
    seen.choose(0)
    seen.page.keyboard.press("End")
    seen.page.click("#tab-overview")
    assert f"about {2 * called + 20} images may be foreign; only {called} of them" in seen.text("#panel-overview")
    seen.page.focus("#see-foreign")
    seen.page.keyboard.press("Enter")
    assert seen.page.input_value("#sort") == "foreign" and "All 1,000 images" in seen.text("#shown")
    seen.page.wait_for_timeout(200)
    assert seen.page.evaluate("document.querySelector('#gallery').scrollTop") == 0
    likeliest = page.table.foreign_score.index(max(score for score in page.table.foreign_score if score > 0))
    assert seen.tiles()[0].startswith(page.table.id[likeliest].split("/")[1])
    few_called = replace(page, summary={"rates": {"foreign": {"estimate": called / 1000, "low": 0, "high": 1}}})
    assert not visit(written(tmp_path, few_called), "overview").page.locator("#see-foreign").count()


def test_commands_name_what_was_audited(visit: Any, tmp_path: Path) -> None:
    folder = tmp_path / "my photos"
    folder.mkdir()
    page = replace(few(), commands=next_commands("out/my audit", str(folder)))
    seen = visit(written(tmp_path, page))
    seen.page.click("#open-decisions")
    lines = seen.page.evaluate("[...document.querySelectorAll('.commands')].map((line) => line.textContent)")
    assert lines == [
        f"lond audit '{folder}' --out 'out/my audit' --decisions decisions.csv",
        "lond apply 'out/my audit' --decisions decisions.csv --out corrected --write",
    ]
    assert seen.page.locator("#source-note").is_hidden()


def test_a_typed_label_is_taken_by_enter_alone(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    seen.choose(0)
    page.keyboard.press("l")
    page.keyboard.type("fr")
    assert page.input_value("#relabel") == str(CLASSES.index("frog")) and "Enter takes this label" in seen.said()
    page.keyboard.type("uit")
    assert "No label has “fruit” in its name" in seen.said()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert seen.text("#progress-text").startswith("0 of") and page.input_value("#relabel") == ""
    page.keyboard.press("l")
    for key in ("t", "r", "u", "Backspace", "ArrowUp"):
        page.keyboard.press(key)
    assert page.input_value("#relabel") == str(CLASSES.index("ship")) and seen.text("#progress-text").startswith("0 of")
    page.keyboard.press("Enter")
    assert "relabelled: ship" in seen.tiles()[0] and "undecided" in seen.tiles()[1]
    # The keys belong to the next image again.
    assert page.evaluate("document.activeElement.closest('.tile').getAttribute('aria-posinset')") == "2"
    page.keyboard.press("r")
    assert "not sure" in seen.tiles()[1]


def test_a_typed_label_of_selected_images_is_taken_by_enter_alone(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    seen.choose(0)
    for key in ("x", "Shift+ArrowRight", "l", "d", "o", "g"):
        page.keyboard.press(key)
    assert seen.text("#selection-text") == "2 selected" and seen.text("#progress-text").startswith("0 of")
    page.keyboard.press("Enter")
    assert ["relabelled: dog" in label for label in seen.tiles()[:3]] == [True, True, False]


@pytest.mark.parametrize("width", [1440, 1024])
def test_cards_of_short_labels_have_short_captions_that_hold_every_word(visit: Any, tmp_path: Path, width: int) -> None:
    names, viewport = ("cat", "dog", "a flycatcher with a long name"), {"width": width, "height": 800}
    heights = []
    for long in (False, True):
        table = replace(few().table, suggested_label=("cat", "cat", "cat", "", names[2] if long else "dog", ""))
        page = replace(few(), table=table, class_names=names if long else names[:2])
        seen = visit(written(tmp_path, page), viewport=viewport)
        seen.page.click("#show-all")
        cut = """(all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1
            || one.scrollHeight > one.clientHeight + 1).map((one) => one.textContent)"""
        words = seen.page.locator(".tile .caption, .tile .labels, .tile .facts, .tile .facts span:nth-child(2)")
        assert words.count() == 24 and words.evaluate_all(cut) == []
        heights.append(seen.page.locator(".tile .caption").first.bounding_box()["height"])
    assert heights[0] < heights[1]
