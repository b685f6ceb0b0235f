"""From the overview to the images behind a figure: classes, bars, quality; and words that explain themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, make_page, make_table
from audit.page.page_visits import ROWS, written

pytestmark = pytest.mark.slow


def shown(seen: Any) -> int:
    return int(seen.text("#shown").removeprefix("All ").split(" ")[0].replace(",", ""))


def test_a_class_leads_to_its_images(visit: Any, usual: Path) -> None:
    seen, table = visit(usual, "overview"), make_table(ROWS)
    seen.page.locator(".class-link", has_text="horse").click()
    assert shown(seen) == table.label.count("horse")
    assert seen.page.input_value("#filter-given") == str(CLASSES.index("horse"))


@pytest.mark.parametrize("line", [0, 3])
def test_a_bar_leads_to_its_images_by_mouse_and_keyboard(visit: Any, usual: Path, line: int) -> None:
    seen = visit(usual, "overview")
    page = seen.page
    chart = page.locator(".histogram svg").nth(line)
    bars = chart.locator(".hit")
    images = [int(bar.get_attribute("aria-label").split(" ")[0]) for bar in bars.all()]
    for number in (0, len(images) // 2, len(images) - 1):
        bars.nth(number).click(force=True)
        assert shown(seen) == images[number] and page.is_visible("#range-chip")
        page.click("#tab-overview")
    assert chart.locator('.hit[tabindex="0"]').count() == 1
    bars.nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert shown(seen) == images[2] and "score" in seen.text("#range-chip").lower()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert shown(seen) == images[2]
    page.click("#range-chip")
    assert shown(seen) > images[2] and not page.is_visible("#range-chip")


def test_a_sentence_says_why_an_estimate_differs_from_the_verdicts(visit: Any, tmp_path: Path) -> None:
    def told(wrong: float, foreign: float, copy: str = "") -> dict[str, str]:
        rates = {
            kind: {"estimate": rate, "low": 0.0, "high": 0.4} for kind, rate in (("wrong", wrong), ("foreign", foreign))
        }
        page = make_page(60)
        verdict = ("mislabelled",) * 6 + ("foreign",) * 3 + ("clean",) * 51
        table = replace(page.table, verdict=verdict, duplicate_of=("",) * 60, copy=(copy, *[""] * 59))
        # Of the 60 images, 50 count.
        rates_and_classes = rates | {"by_class": [{"class": "cat", "images": 50, **rates}]}
        seen = visit(written(tmp_path, replace(page, table=table, summary={"rates": rates_and_classes})), "overview")
        lines = seen.page.locator("[data-differs]")
        return {line.get_attribute("data-differs"): line.inner_text() for line in lines.all()}

    assert told(0.12, 0.06) == {}
    assert told(0.08, 0.1) == {
        "wrong": "6 images are called mislabelled, but the estimate comes to about 4: "
        "each of these counts only as much as it is likely to be so.",
        "foreign": "3 images are called foreign, but the estimate comes to about 5: "
        "images below the limit are not called so, but count with their chances.",
    }
    assert told(0.08, 0.06, "exact")["wrong"].endswith("likely to be so, and exact copies count once.")
    assert "foreign" not in told(0.12, 0.4)


def test_sentences_below_the_rates_stand_apart(visit: Any, tmp_path: Path) -> None:
    page = make_page(60)
    table = replace(page.table, decided=("keep", *[""] * 59))
    seen = visit(written(tmp_path, replace(page, table=table)), "overview")
    parts = seen.page.locator(".rates, [data-differs], #second-rates")
    boxes = sorted((box["y"], box["y"] + box["height"]) for box in (part.bounding_box() for part in parts.all()))
    assert len(boxes) > 2
    assert all(after[0] - before[1] >= 3 for before, after in pairwise(boxes))


def test_quality_is_listed_and_filtered_apart_from_verdicts(visit: Any, usual: Path) -> None:
    seen, table = visit(usual, "overview"), make_table(ROWS)
    page = seen.page
    assert "says nothing about the label" in seen.text("#panel-overview")
    page.click('[data-quality="blurred"]')
    blurred = [row for row, names in enumerate(table.quality) if "blurred" in names]
    assert shown(seen) == len(blurred) > 5
    page.locator("#quality-chips .chip", has_text="dark").click()
    assert shown(seen) == sum(bool({"blurred", "dark"} & set(names)) for names in table.quality)
    page.locator("#quality-chips .chip", has_text="dark").click()
    page.locator("#chips .chip", has_text="clean").click()
    assert shown(seen) == sum(table.verdict[row] == "clean" for row in blurred)
    seen.choose(0)
    assert "Far fewer fine details" in seen.text("#detail") and "blurred" in seen.tiles()[0]


def test_quality_reaches_beyond_the_filters(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    page = seen.page
    dark = sum("dark" in names for names in table.quality)
    page.locator("#quality-chips .chip", has_text="dark").click()
    hidden = dark - shown(seen)
    assert hidden > 1 and seen.text("#show-outside") == f"{hidden} matches outside the filters: show"
    page.select_option("#filter-decision", "decided")
    assert shown(seen) == 0 and "picture quality" in seen.text("#gallery-empty")
    page.click("#gallery-empty button")
    assert shown(seen) == dark and not page.is_visible("#show-outside")
    page.fill("#filter-text", "zebra")
    seen.until("document.querySelector('#shown').textContent.startsWith('0 ')")
    assert "No image has “zebra”" in seen.text("#gallery-empty")
    page.fill("#filter-text", "")
    page.click("#show-all")
    assert shown(seen) == ROWS and not page.is_visible("#show-outside")


def test_a_page_without_quality_shows_no_filter_for_it(visit: Any, tmp_path: Path) -> None:
    page = make_page(50)
    seen = visit(written(tmp_path, replace(page, table=replace(page.table, quality=()))))
    assert not seen.page.is_visible("#quality-chips")


def test_words_explain_themselves(visit: Any, usual: Path) -> None:
    seen = visit(usual, "overview")
    page = seen.page
    page.locator(".term", has_text="Foreign score").hover()
    assert "Larger is more foreign" in seen.text("#explanation")
    page.mouse.move(2, 2)
    assert not page.is_visible("#explanation")
    page.locator(".term", has_text="interval").focus()
    assert "true rate" in seen.text("#explanation")
    page.keyboard.press("Escape")
    assert not page.is_visible("#explanation")
    for word in page.locator(".term").all():
        assert word.get_attribute("data-explains"), word.inner_text()
    page.click("#tab-map")
    assert "features of the frozen network are alike" in seen.text(".hint") and "t-SNE" in seen.text(".hint")


@pytest.mark.parametrize("width", [1280, 1000, 400])
def test_long_names_and_full_rates_fit(visit: Any, tmp_path: Path, width: int) -> None:
    names = (
        "a very long class name of many words that goes on and on",
        "Donaudampfschifffahrtsgesellschaftskapitaen" * 2,
    )
    whole = {"estimate": 1.0, "low": 1.0, "high": 1.0}
    classes = [{"class": name, "images": 123456, "closed": whole, "open": whole} for name in names]
    page = make_page(60)
    table = replace(
        page.table,
        label=tuple(names[row % 2] for row in range(60)),
        suggested_label=tuple(names[1 - row % 2] for row in range(60)),
        verdict=("mislabelled",) * 60,
        confidence=(1.0,) * 60,
    )
    summary = page.summary | {"rates": {"closed": whole, "open": whole, "by_class": classes}}
    path = written(tmp_path, replace(page, table=table, class_names=names, summary=summary))
    seen = visit(path, "overview", viewport={"width": width, "height": 900})
    overflowing = """(selector) => [...document.querySelectorAll(selector)].filter((node) => {
        const box = node.getBoundingClientRect(), around = node.parentElement.getBoundingClientRect();
        return node.scrollWidth > node.clientWidth + 1 || box.right > around.right + 1 || box.left < around.left - 1;
    }).map((node) => node.outerHTML.slice(0, 90))"""
    assert "100.0 % (100.0–100.0 %)" in seen.text(".by-class tbody")
    for selector in (".by-class .number", ".rate .number", ".class-link"):
        assert seen.page.evaluate(overflowing, selector) == [], selector
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.click("#tab-review")
    assert seen.page.evaluate(overflowing, ".caption, .caption .number") == []
    assert seen.text(".tile .number >> nth=0") == "100 %"
