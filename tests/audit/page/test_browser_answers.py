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


def test_a_decision_goes_on_to_the_next_undecided_image(seen: Any) -> None:
    """A key pressed twice must not change an earlier decision."""
    seen.choose(1)
    seen.page.keyboard.press("g")
    seen.choose(0)
    seen.page.keyboard.press("a")
    assert seen.page.locator('.tile.current[aria-posinset="3"]').count() == 1
    seen.page.keyboard.press("a")
    _, rows = seen.download("#download-decided")
    assert [row["decision"] for row in rows] == ["foreign", "keep", "accept"]


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
        assert seen.text("#detail .decision").startswith("undecided; likeliest: ")
    found = [" ".join(text.split()) for texts in mains for text in texts]
    assert found == ["Foreign A F", "Keep label A G", "→ dog A S"]
    seen.choose(0)
    for _ in range(3):
        seen.page.keyboard.press("a")
    said = ["marked foreign", "label kept: cat", "accepted: dog"]
    assert [words in label for words, label in zip(said, seen.tiles(), strict=True)] == [True] * 3
    seen.choose(0)
    seen.page.keyboard.press("s")
    assert "accepted: dog" in seen.tiles()[0]


def test_the_second_button_is_the_likeliest_answer_but_one(visit: Any, tmp_path: Path) -> None:
    page = torn()
    chances = {"confidence": (0.25, 0.3, 0.9), "wrong_score": (0.27, 0.85, 0.92), "foreign_score": (0.6, 0.1, 0.06)}
    seen = visit(written(tmp_path, replace(page, table=replace(page.table, **chances))))
    seen.page.select_option("#sort", "path")
    assert [buttons(seen, place) for place in (1, 2, 3)] == [
        ["foreign", "dog"],
        ["dog", "other label"],
        ["dog", "foreign"],
    ]
    third = seen.page.locator('.tile[aria-posinset="3"]')
    third.hover()
    third.locator(".no").click()
    assert "marked foreign" in seen.tiles()[2]
    pressed = third.locator(".quick button").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-pressed'))")
    assert pressed == ["false", "true"]


def test_a_card_offers_another_label_where_the_label_is_likelier_wrong_than_foreign(visit: Any, tmp_path: Path) -> None:
    page = torn()
    chances = {"confidence": (0.163, 0.1, 0.43), "wrong_score": (0.317, 0.3, 0.02), "foreign_score": (0.25, 0.26, 0.55)}
    other = {"verdict": ("mislabelled", "mislabelled", "clean"), "suggested_label": ("dog", "dog", "cat")}
    seen = visit(written(tmp_path, replace(page, table=replace(page.table, **chances, **other))))
    seen.page.select_option("#sort", "path")
    assert [buttons(seen, place) for place in (1, 2, 3)] == [
        ["keep cat", "dog"],
        ["keep cat", "other label"],
        ["foreign", "keep cat"],
    ]
    assert caption(seen, 1) == "cat 43 % ◐ unsure: or dog 16 %"
    assert caption(seen, 2) == "cat 44 % ◐ unsure: or another label 20 %"


def caption(seen: Any, place: int) -> str:
    return " ".join(seen.text(f'.tile[aria-posinset="{place}"] .caption').split())


def test_the_bold_line_shows_the_decision_once_there_is_one(seen: Any) -> None:
    page = seen.page
    page.evaluate("document.querySelector('#move-on').checked = false")
    assert caption(seen, 3) == "cat → dog 90 % ▲ or cat 5 %"
    seen.choose(2)
    for key, line, in_panel in (
        ("f", "cat → foreign ▲ audit: dog 90 %", "cat → foreign"),
        ("g", "cat ▲ audit: dog 90 %", "cat"),
        ("r", "cat ▲ audit: dog 90 %", "cat"),
        ("s", "cat → dog 90 % ▲ or cat 5 %", "cat → dog 90.0 %"),
        ("c", "cat → dog 90 % ▲ or cat 5 %", "cat → dog 90.0 %"),
    ):
        page.keyboard.press(key)
        assert caption(seen, 3) == line, key
        assert " ".join(seen.text("#detail .big").split()) == in_panel, key
        assert page.get_attribute(".tile.current .main", "title").split("\n")[0] == line.split(" ▲")[0].split(" 9")[0]
    for label, line in (
        ("frog", "cat → frog ▲ audit: dog 90 %"),
        ("dog", "cat → dog 90 % ▲ or cat 5 %"),
    ):
        page.select_option("#relabel", label=label)
        assert caption(seen, 3) == line
    assert caption(seen, 1) == "cat → foreign 60 % ◐ unsure: or dog 11 %"
    assert not page.locator('.tile[aria-posinset="1"] .from').count()
    seen.choose(0)
    page.keyboard.press("f")
    assert caption(seen, 1) == "cat → foreign 60 % ◐ unsure: or dog 11 %"
    assert page.locator('.tile[aria-posinset="1"] .from').inner_text() == "cat"
    page.keyboard.press("u")
    assert not page.locator('.tile[aria-posinset="1"] .from').count()


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
    assert "2 suggestions will be accepted: 1 mislabelled, 1 unsure. Of them 1 as foreign" in seen.text("#bulk-text")
    seen.page.click("#bulk-accept")
    said = ["marked foreign", "undecided", "accepted: dog"]
    assert [words in label for words, label in zip(said, seen.tiles(), strict=True)] == [True] * 3


def test_a_doubtful_verdict_is_not_told_as_a_fact(seen: Any) -> None:
    seen.choose(1)
    assert "the given label is likelier" in seen.text("#detail .verdict")
    assert "belong" not in seen.text("#detail .verdict") and not seen.page.locator("#detail .from").count()
    words = "The given label (35.0 %) is likelier than dog (30.0 %). Called mislabelled because"
    assert words in seen.text("#detail")
    assert seen.page.locator(".tile .from").count() == 1
    assert seen.page.locator('#detail [data-action="foreign"]').is_visible()
    seen.choose(2)
    assert "seems to belong to another class" in seen.text("#detail .verdict")


def test_what_another_answer_contradicts_is_counted_as_unsure(seen: Any) -> None:
    page = seen.page
    chips = {chip.inner_text().split()[1]: chip.inner_text().split()[-1] for chip in page.locator("#chips .chip").all()}
    assert (chips["mislabelled"], chips["unsure"]) == ("1", "2")
    assert "foreign or the given label is likelier" in page.get_attribute("#unsure-chip", "title")
    page.hover("#progress-text .term")
    assert "1 mislabelled + 2 unsure" in seen.text("#explanation")
    page.click("#unsure-chip")
    assert [label.split(", ")[1] for label in seen.tiles()] == ["unsure", "unsure"]
    page.click("#reset")
    page.select_option("#group", "verdict")
    assert set(page.locator(".heading b").all_inner_texts()) == {"unsure", "mislabelled"}
    assert [label.split(", ")[1] for label in seen.tiles()] == ["unsure", "unsure", "mislabelled"]


def test_the_overview_keeps_the_verdicts_and_tells_how_many_are_unsure(seen: Any) -> None:
    page = seen.page
    page.click("#tab-overview")
    card = '.card[data-verdict="mislabelled"]'
    assert (
        seen.text(f"{card} .card-number") == "3"
        and seen.text(f"{card} .card-unsure") == "In Review: 1 mislabelled + 2 unsure"
    )
    assert page.locator(".card-unsure").count() == 1
    page.click(card)
    assert seen.text("#shown") == "All 3 images" and "Called mislabelled" in seen.text("#called-chip")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.is_visible("#called-chip")
    page.click("#chips .chip >> nth=0")
    assert seen.text("#shown") == "1 of 3 images" and not page.is_visible("#called-chip")
    assert [row["verdict"] for row in seen.download()[1]] == ["mislabelled"] * 3


def test_accepting_many_leaves_out_what_is_hard_to_see(visit: Any, tmp_path: Path) -> None:
    page = torn()
    table = replace(page.table, quality=(("dark",), ("grey",), ("seen in part", "grey")))
    seen = visit(written(tmp_path, replace(page, table=table)))
    seen.page.click("#open-bulk")
    seen.page.fill("#bulk-sureness", "50")
    words = "No other undecided image reaches this value. Left out: 2 images called mislabelled"
    assert words in seen.text("#bulk-text")
    assert seen.page.is_disabled("#bulk-accept")
    seen.page.fill("#bulk-sureness", "30")
    assert seen.text("#bulk-text").startswith("1 suggestion will be accepted: 1 unsure.")
    seen.page.check("#bulk-hard")
    assert "Left out" not in seen.text("#bulk-text") and seen.text("#bulk-accept") == "Accept 3"
    seen.page.click("#bulk-cancel")
    seen.page.click("#open-bulk")
    assert not seen.page.is_checked("#bulk-hard")
    seen.page.click("#bulk-accept")
    assert sum("undecided" in label for label in seen.tiles()) == 2
    seen.page.click("#open-bulk")
    seen.page.fill("#bulk-sureness", "99")
    assert not seen.page.is_visible("#bulk-hard-field")


def test_a_button_breaks_no_word_that_fits(visit: Any, tmp_path: Path) -> None:
    page = torn()
    table = replace(page.table, suggested_label=("mushrooms", "butterfly", "mushrooms"))
    names = ("cat", "butterfly", "mushrooms")
    seen = visit(written(tmp_path, replace(page, table=table, class_names=names)))
    lines = """([node]) => {
        const range = document.createRange();
        range.setStart(node.firstChild, node.textContent.startsWith("→") ? 2 : 0);
        range.setEnd(node.firstChild, node.textContent.length);
        return new Set([...range.getClientRects()].map((box) => box.top)).size;
    }"""
    for place in range(3):
        seen.choose(place)
        text = seen.page.locator("#detail [data-action='accept'] span")
        assert text.text_content() in ("→ mushrooms", "→ butterfly") and text.evaluate_all(lines) == 1
        for card in seen.page.locator(".quick span", has_text="mushrooms").all():
            assert card.evaluate(lines.replace("[node]", "node")) == 1


def test_cards_and_messages_name_what_is_hard_to_see(visit: Any, tmp_path: Path) -> None:
    page = torn()
    table = replace(page.table, quality=(("dark", "blurred"), ("grey",), ("seen in part", "grey")))
    seen = visit(written(tmp_path, replace(page, table=table)))
    seen.page.select_option("#sort", "path")
    assert seen.page.locator(".badge").all_inner_texts() == ["dark, blurred", "seen in part"]
    for keys, words in (("f", "Marked foreign: 3 images"), ("a", "Accepted: 3 images, of them 1 as foreign")):
        seen.page.click("#select-shown")
        seen.page.keyboard.press(keys)
        assert seen.said().startswith(words)
        assert "2 of them are hard to see (dark, blurred, seen in part)" in seen.said()
    seen.page.click("#select-shown")
    seen.page.keyboard.press("r")
    assert "hard to see" not in seen.said()


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


def test_every_answer_has_its_own_place(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.click("#show-all")
    seen.page.select_option("#group", "verdict")
    found = set()
    for verdict in ("mislabelled", "foreign", "duplicate conflict", "unlabelled", "clean", "unreadable"):
        seen.page.click("#show-all")
        seen.page.locator("#chips .chip", has_text=verdict).click()
        seen.choose(0)
        places = """(all) => all.map((one) => {
            const box = one.getBoundingClientRect();
            return [one.dataset.action, Math.round(box.x), Math.round(box.y)].join("|");
        })"""
        found.add(tuple(seen.page.eval_on_selector_all("#detail .choices button", places)))
    assert len(found) == 1
    assert [place.split("|")[0] for place in found.pop()] == ["accept", "keep", "foreign", "not sure"]


@pytest.mark.parametrize(("width", "height"), [(1024, 700), (1280, 800), (400, 800)])
@pytest.mark.parametrize("label", ["dog", "great crested grebe", "Siberian husky (grey)"])
def test_no_answer_is_cut_off(visit: Any, tmp_path: Path, width: int, height: int, label: str) -> None:
    page = torn()
    table = replace(page.table, suggested_label=(label,) * 3)
    viewport = {"width": width, "height": height}
    seen = visit(written(tmp_path, replace(page, table=table, class_names=(*CLASSES, label))), viewport=viewport)
    cut = """(all) => all.filter((one) => [one, one.firstChild].some((node) =>
        node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1))
        .map((one) => one.textContent)"""
    for place in range(3):
        seen.choose(place)
        answers = seen.page.locator("#detail .choices button")
        assert answers.evaluate_all(cut) == []
        assert set(answers.evaluate_all("(all) => all.map((one) => one.offsetHeight)")) == {48}
        if width < 760:
            seen.page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [420, 375])
def test_narrow_cards_wrap_the_word_that_decides(visit: Any, tmp_path: Path, width: int) -> None:
    table = replace(torn().table, suggested_label=("sailing boat",) * 3)
    path = written(tmp_path, replace(torn(), table=table, class_names=(*CLASSES, "sailing boat")))
    seen = visit(path, viewport={"width": width, "height": 800})
    cut = """(all) => all.filter((one) =>
        one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
        .map((one) => one.textContent)"""
    words = seen.page.locator(".tile .to, .tile .labels, .tile .facts span:nth-child(2), .tile .caption")
    assert words.count() > 9 and words.evaluate_all(cut) == []


@pytest.mark.parametrize(("width", "height"), [(900, 700), (1280, 600), (420, 800)])
def test_small_windows_fold_the_filters_away_and_show_a_whole_row(
    visit: Any, usual: Path, width: int, height: int
) -> None:
    seen = visit(usual, viewport={"width": width, "height": height})
    assert not seen.page.is_visible("#chips")
    tile = seen.page.locator('.tile[aria-posinset="1"]').bounding_box()
    assert tile["y"] + tile["height"] <= height
    seen.page.click("#filters summary")
    assert seen.page.is_visible("#chips")
    seen.page.set_viewport_size({"width": 1280, "height": 800})
    assert seen.page.is_visible("#chips") and not seen.page.is_visible("#filters summary")


def test_a_button_decides_as_its_key_does_and_only_taking_back_takes_back(seen: Any) -> None:
    current = "document.querySelector('.tile.current').getAttribute('aria-posinset')"
    for way in ("click", "key"):
        for _ in range(2):
            seen.choose(0)
            if way == "click":
                seen.page.click('#detail [data-action="keep"]')
            else:
                seen.page.keyboard.press("g")
            assert "label kept: cat" in seen.tiles()[0] and seen.page.evaluate(current) == "2"
    seen.choose(0)
    seen.page.click("#take-back")
    assert "undecided" in seen.tiles()[0] and seen.page.evaluate(current) == "1"
    assert not seen.page.locator("#take-back").count()


def test_rounding_reaches_no_limit(visit: Any, tmp_path: Path) -> None:
    page = torn()
    table = replace(page.table, foreign_score=(0.6496, 0.32, 0.03), wrong_score=(0.2, 0.33, 0.92))
    seen = visit(written(tmp_path, replace(page, table=table)))
    seen.page.select_option("#sort", "path")
    assert " ".join(seen.text(".tile[aria-posinset='1'] .labels").split()) == "cat → foreign 64 %"
    seen.choose(0)
    assert "64.9 %" in seen.text("#detail .big") and "65 % on" in seen.text("#detail")


def test_the_title_of_the_panel_names_the_folder(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.choose(0)
    title, name = (seen.page.text_content(f"#detail {part}") for part in ("h2", "h2 span:last-child"))
    assert title.endswith(f"/{name}") and title.split("/")[0] in CLASSES


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
    assert (
        seen.said() == "Forgot 1 decision; until you close the page, Undo brings it back"
        and "undecided" in seen.tiles()[0]
    )
    seen.page.click("#toast-undo")
    assert "marked foreign" in seen.tiles()[0]


def test_the_decisions_dialog_fits_a_small_screen(seen: Any) -> None:
    seen.page.click("#open-decisions")
    fits = "(dialog) => dialog.scrollHeight <= dialog.clientHeight"
    assert seen.page.locator("#decisions").evaluate(fits)
    seen.page.click("#decisions summary")
    assert "not_a_copy" in seen.text("#decisions details p")
    assert seen.page.locator("#decisions").evaluate(fits)


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
