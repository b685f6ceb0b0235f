"""The page in a real browser: what a person sees, presses and gets."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, HOSTILE, doubtful, make_page, make_table, make_thumbnail
from audit.page.page_visits import ROWS, written
from PIL import Image

from lond.audit.page.write import ReviewPage, write_page
from lond.io.csv_files import printable, undo_neutralise

pytestmark = pytest.mark.slow


def test_every_tab_opens_without_a_fault(visit: Any, usual: Path) -> None:
    seen = visit(usual, "overview")
    assert "1,000 images" in seen.text("#subtitle") and "10 classes" in seen.text("#subtitle")
    assert "12.0 % (10.4–13.9 %)" in seen.text("#panel-overview")
    assert seen.page.locator(".histogram").count() == 2 and seen.page.locator(".matrix td button").count() > 5
    for tab in ("review", "copies", "map", "about"):
        seen.page.click(f"#tab-{tab}")
        seen.page.wait_for_timeout(100)
        assert seen.page.is_visible(f"#panel-{tab}")
    assert "at most 96 pixels" in seen.text("#panel-about") and "neighbours" in seen.text("#panel-about")


def test_card_and_pair_lead_to_their_images(visit: Any, usual: Path) -> None:
    seen = visit(usual, "overview")
    table = make_table(ROWS)
    seen.page.click('.card[data-verdict="foreign"]')
    assert seen.text("#shown") == f"{table.verdict.count('foreign')} of 1,000 images"
    seen.page.click("#tab-overview")
    images = seen.text(".pairline >> nth=0 >> .number")
    seen.page.click(".pairline >> nth=0")
    assert seen.text("#shown") == f"{images} of 1,000 images"


def test_filters_leave_what_they_should(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    page = seen.page

    def shown() -> str:
        return seen.text("#shown").split(" of ")[0]

    assert shown() == str(sum(doubtful(table)))
    page.click("#show-all")
    assert seen.text("#shown") == "All 1,000 images"
    page.select_option("#filter-given", str(CLASSES.index("cat")))
    assert shown() == str(table.label.count("cat"))
    page.select_option("#filter-suggested", str(CLASSES.index("dog")))
    assert shown() == str(sum(pair == ("cat", "dog") for pair in zip(table.label, table.suggested_label, strict=True)))
    page.click("#show-all")
    page.fill("#filter-text", "IMG_0012")
    page.wait_for_timeout(200)
    assert shown() == "10"
    page.fill("#filter-text", "")
    page.click("#show-all")
    page.locator(".chip", has_text="mislabelled").click()
    page.fill("#filter-sureness", "90")
    sure = [v == "mislabelled" and c >= 0.9 for v, c in zip(table.verdict, table.confidence, strict=True)]
    assert shown() == str(sum(sure))
    page.select_option("#filter-decision", "decided")
    assert shown() == "0" and "No image matches" in seen.text("#gallery-empty")


def test_sorts_and_groups(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    page = seen.page
    page.click("#show-all")
    page.locator(".chip", has_text="mislabelled").click()
    page.select_option("#group", "")
    rows = [row for row, verdict in enumerate(table.verdict) if verdict == "mislabelled"]
    keys = {
        "surest": lambda row: -table.confidence[row],
        "unsure": lambda row: table.confidence[row],
        "foreign": lambda row: -table.foreign_score[row],
        "margin": lambda row: table.neighbour_margin[row],
        "path": lambda row: table.path[row],
    }
    for name, key in keys.items():
        page.select_option("#sort", name)
        expected = [table.id[row].split("/")[1] for row in sorted(rows, key=key)][:12]
        assert [label.split(",")[0] for label in seen.tiles()[:12]] == expected, name
    assert page.locator(".heading").count() == 0
    page.select_option("#group", "class")
    assert "mislabelled" in seen.text(".heading >> nth=0") and "given as" in seen.text(".heading >> nth=0")


def test_only_tiles_in_sight_are_in_the_document(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.click("#show-all")
    assert seen.page.locator(".tile").count() < 80
    seen.page.evaluate("document.querySelector('#gallery').scrollTop = 1e9")
    seen.page.wait_for_timeout(200)
    assert seen.page.locator(".tile").count() < 80
    assert seen.page.locator('.tile[aria-posinset="1000"]').count() == 1
    seen.page.evaluate("document.querySelector('#gallery').scrollTop -= 3000")
    seen.page.wait_for_timeout(200)
    places = seen.page.evaluate(
        "[...document.querySelectorAll('.tile')].map((tile) => Number(tile.getAttribute('aria-posinset')))"
    )
    assert places == sorted(places)


def test_decides_by_mouse_and_takes_back(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    page.locator(".tile").nth(1).hover()
    page.locator(".tile .yes").nth(1).click()
    assert "label kept" in seen.tiles()[1] and seen.text("#progress-text").startswith("1 of")
    assert seen.said().startswith("Label kept")
    seen.choose(2)
    page.click('#detail [data-action="not sure"]')
    assert "not sure" in seen.tiles()[2]
    seen.choose(4)
    page.select_option("#relabel", str(CLASSES.index("frog")))
    assert "relabelled: frog" in seen.tiles()[4]
    page.click("#undo")
    page.click("#undo")
    assert "undecided" in seen.tiles()[2] and "undecided" in seen.tiles()[4]
    page.click("#redo")
    assert "not sure" in seen.tiles()[2]


def test_decides_by_keyboard_alone(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    page.select_option("#group", "")
    seen.choose(0)
    page.keyboard.press("a")
    page.keyboard.press("r")
    page.keyboard.press("j")
    page.keyboard.press("f")
    labels = seen.tiles()
    assert ["label kept" in labels[0], "not sure" in labels[1], "undecided" in labels[2], "foreign" in labels[3]] == [
        True
    ] * 4
    focused = "document.activeElement.closest('.tile').getAttribute('aria-posinset')"
    assert page.evaluate(focused) == "5"
    page.keyboard.press("k")
    page.keyboard.press("c")
    assert "undecided" in seen.tiles()[3]
    page.keyboard.press("u")
    assert "marked foreign" in seen.tiles()[3]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "4"
    page.keyboard.press("End")
    assert page.evaluate(focused) == page.get_attribute(".tile >> nth=0", "aria-setsize")
    page.keyboard.press("l")
    assert page.evaluate("document.activeElement.id") == "relabel"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.is_visible("#help") and "accept the likeliest answer" in seen.text("#help")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    before = seen.text("#progress-text")
    page.keyboard.press("a")
    assert seen.text("#progress-text") == before


def test_an_undecided_filter_moves_on_by_itself(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.select_option("#filter-decision", "undecided")
    names = [label.split(",")[0] for label in seen.tiles()]
    seen.choose(0)
    seen.page.keyboard.press("a")
    seen.page.keyboard.press("r")
    assert [label.split(",")[0] for label in seen.tiles()[:3]] == names[2:5]
    assert seen.text("#detail h2 span:last-child") == names[2]


def test_a_clean_image_keeps_its_label_when_accepted(visit: Any, tmp_path: Path) -> None:
    table = replace(make_table(1), verdict=("clean",), label=("cat",), suggested_label=("dog",))
    seen = visit(written(tmp_path, ReviewPage("One", table, CLASSES, {}, None, lambda row: None)))
    seen.choose(0)
    seen.page.keyboard.press("a")
    row = seen.download()[1][0]
    assert (row["decision"], row["suggested_label"], row["new_label"]) == ("keep", "dog", "cat")


def test_bulk_accept_is_one_step(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    page = seen.page
    page.click("#show-all")
    page.locator(".chip", has_text="mislabelled").click()
    page.click("#open-bulk")
    page.fill("#bulk-sureness", "80")
    seen_well = [not {"dark", "blurred"} & set(odd) for odd in table.quality]
    rows = zip(table.verdict, table.confidence, seen_well, strict=True)
    sure = sum(v == "mislabelled" and c >= 0.8 and well for v, c, well in rows)
    assert seen.text("#bulk-text").startswith(f"{sure} suggestions will be accepted: {sure} mislabelled")
    page.click("#bulk-cancel")
    assert seen.text("#progress-text").startswith("0 of")
    page.click("#open-bulk")
    page.click("#bulk-accept")
    assert seen.text("#progress-text").startswith(f"{sure} of")
    page.click("#toast-undo")
    assert seen.text("#progress-text").startswith("0 of")


def test_bulk_accept_reads_the_search_that_is_being_typed(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    said = seen.page.evaluate(
        """() => {
            const box = document.querySelector('#filter-text');
            box.value = 'cat/';
            box.dispatchEvent(new Event('input', { bubbles: true }));
            document.querySelector('#bulk-sureness').value = '0';
            document.querySelector('#open-bulk').click();
            document.querySelector('#bulk-hard').click();
            return [document.querySelector('#bulk-text').textContent, document.querySelector('#shown').textContent];
        }"""
    )
    found = sum(doubt and name.startswith("cat/") for doubt, name in zip(doubtful(table), table.id, strict=True))
    assert said[0].startswith(f"{found} suggestions will be accepted") and said[1].startswith(f"{found} of")
    seen.page.wait_for_timeout(200)
    seen.page.click("#bulk-accept")
    assert seen.text("#progress-text").startswith(f"{found} of")


def test_another_filter_keeps_the_search_that_is_being_typed(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.evaluate(
        """() => {
            const [box, chip] = [document.querySelector('#filter-text'), document.querySelector('#filter-given')];
            box.value = 'img_0012';
            box.dispatchEvent(new Event('input', { bubbles: true }));
            chip.dispatchEvent(new Event('change', { bubbles: true }));
        }"""
    )
    assert seen.page.input_value("#filter-text") == "img_0012"
    assert int(seen.text("#shown").split(" of ")[0]) <= 10


def test_foreign_images_show_their_p_value(visit: Any, tmp_path: Path) -> None:
    table = replace(
        make_table(4),
        verdict=("foreign", "foreign", "mislabelled", "foreign"),
        confidence=(math.nan, math.nan, 0.97, math.nan),
        p_value=(0.08, 0.0004, 0.5, math.nan),
    )
    seen = visit(written(tmp_path, ReviewPage("Few", table, CLASSES, {}, None, lambda row: None)))
    seen.page.select_option("#group", "")
    seen.page.select_option("#sort", "surest")
    numbers = [seen.text(f'.tile[aria-posinset="{place}"] .number') for place in (1, 2, 3, 4)]
    assert numbers == ["p < 0.001", "97 %", "p 0.08", "–"]
    labels = seen.tiles()
    assert "as high a score in less than 0.1 % of known images" in labels[0]
    assert "chance of the suggested label 97.0 %" in labels[1]
    assert "p 0.08: as high a score in 8 % of known images" in labels[2]
    assert "as high a score in 8 %" in seen.page.get_attribute('.tile[aria-posinset="3"] .main', "title")
    seen.choose(2)
    assert seen.text("#detail .verdict .number") == "p 0.08"
    assert "Confidence at least" in seen.text(".field:has(#filter-sureness)")
    seen.page.click("#open-bulk")
    seen.page.fill("#bulk-sureness", "90")
    assert "1 mislabelled, 2 foreign (p at most 0.08)" in seen.text("#bulk-text")


def test_filters_and_order_survive_a_reload(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    page = seen.page
    page.click("#show-all")
    page.locator(".chip", has_text="foreign").click()
    page.select_option("#filter-given", str(CLASSES.index("cat")))
    page.fill("#filter-sureness", "20")
    page.fill("#filter-text", "img")
    page.select_option("#sort", "path")
    page.select_option("#group", "verdict")
    page.click("#tab-map")
    page.select_option("#colour", "class")
    page.click("#tab-review")
    before = seen.tiles(), seen.text("#shown")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert (seen.tiles(), seen.text("#shown")) == before
    values = {"filter-given": "3", "filter-sureness": "20", "filter-text": "img", "sort": "path", "group": "verdict"}
    assert {name: page.input_value(f"#{name}") for name in values} == values
    assert page.input_value("#colour") == "class" and page.locator('.chip[aria-pressed="true"]').count() == 1


@pytest.mark.parametrize("kept", ["nonsense", "[]", '{"filter": {"kinds": ["?", 7], "given": "99", "sureness": "x"}}'])
def test_odd_kept_filters_do_no_harm(visit: Any, usual: Path, kept: str) -> None:
    before = f"""const asUsual = Storage.prototype.getItem;
        Storage.prototype.getItem = function (key) {{
            return key.endsWith(':view') ? {kept!r} : asUsual.call(this, key);
        }};"""
    seen = visit(usual, "review", before)
    assert int(seen.text("#shown").removeprefix("All ").split(" ")[0].replace(",", "")) > 0
    assert seen.page.input_value("#filter-given") == ""


def test_members_of_a_conflict_stand_side_by_side(visit: Any, tmp_path: Path) -> None:
    table = make_table(12)
    copies = {6: 3, 7: 1, 9: 4, 10: 1}
    table = replace(
        table,
        verdict=tuple("duplicate conflict" if row in {1, 3, 4, 6, 7, 9, 10} else "clean" for row in range(12)),
        label=tuple(CLASSES[row % 10] for row in range(12)),
        confidence=tuple(0.5 + 0.04 * row for row in range(12)),
        duplicate_of=tuple(table.id[copies[row]] if row in copies else "" for row in range(12)),
    )
    seen = visit(written(tmp_path, ReviewPage("Copies", table, CLASSES, {}, None, lambda row: None)))
    seen.page.select_option("#sort", "surest")
    for group in ("class", "", "suggested"):
        seen.page.select_option("#group", group)
        places = [next(row for row in range(12) if f"_{row:05d}" in label) for label in seen.tiles()]
        assert places == [10, 7, 1, 9, 4, 6, 3], group
    seen.page.select_option("#sort", "unsure")
    assert [next(row for row in range(12) if f"_{row:05d}" in label) for label in seen.tiles()][:3] == [1, 7, 10]


def test_counts_agree_and_say_what_they_count(visit: Any, tmp_path: Path) -> None:
    page = replace(make_page(300), class_names=(*CLASSES, "empty"))
    seen = visit(written(tmp_path, page))
    assert "10 classes + 1 empty" in seen.text("#subtitle")
    listed = seen.text("#shown").split(" of ")[0]
    assert seen.text("#progress-text") == f"0 of {listed} doubts decided"
    seen.page.click("#show-all")
    seen.page.locator(".chip", has_text="unreadable").click()
    seen.choose(0)
    seen.page.keyboard.press("a")
    assert seen.text("#progress-text") == f"0 of {listed} doubts decided"


def test_rates_say_what_they_are_shares_of(visit: Any, tmp_path: Path) -> None:
    wide = {"estimate": 0.1, "low": 0.0, "high": 0.53}
    page = make_page(200)
    rates = page.summary["rates"] | {"by_class": [{"class": "cat", "images": 3, "closed": wide, "open": None}]}
    seen = visit(written(tmp_path, replace(page, summary=page.summary | {"rates": rates})), "overview")
    text = seen.text("#panel-overview")
    assert "Wrong labels among all images" in text and "Foreign images among all images" in text
    axes = seen.page.locator(".axis").all_inner_texts()
    assert len(axes) == 3 and {" ".join(axis.split()) for axis in axes} == {"0 % 30 % 60 %"}
    assert "the bar its 95 % interval" in text
    cell = seen.page.locator(".by-class tbody td").nth(1)
    assert cell.inner_text() == "too few images to tell" and cell.locator(".dot").count() == 0
    assert cell.locator(".number").get_attribute("title") == "10.0 % (0.0–53.0 %)"
    assert seen.text(".threshold-label") == "foreign from 1.5 on" and seen.page.locator("line.threshold").count() > 3
    ticks = [tick.replace("−", "-") for tick in seen.page.locator(".tick").all_inner_texts()]
    assert len(ticks) >= 5 and all(float(f"{float(tick):.2g}") == float(tick) for tick in ticks)


def test_long_labels_wrap_and_are_whole_in_the_title(visit: Any, tmp_path: Path) -> None:
    names = ("a label of some length", "another rather long label")
    table = replace(make_table(1), verdict=("mislabelled",), label=names[:1], suggested_label=names[1:])
    seen = visit(written(tmp_path, ReviewPage("One", table, names, {}, None, lambda row: None)))
    assert " → ".join(names) in seen.page.get_attribute(".tile .main", "title")
    old, new = (seen.page.locator(f".tile .{part}").bounding_box() for part in ("from", "to"))
    assert new["y"] >= old["y"] + old["height"] - 1
    facts = seen.page.locator(".tile .facts").bounding_box()
    assert facts["y"] >= new["y"] + new["height"] - 1


def test_decisions_survive_a_reload(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.choose(0)
    seen.page.keyboard.press("a")
    seen.page.select_option("#relabel", "3")
    before = seen.tiles()[:3]
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert seen.tiles()[:3] == before and seen.text("#progress-text").startswith("2 of")


def test_says_so_where_the_browser_keeps_nothing(visit: Any, usual: Path) -> None:
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } });"
    seen = visit(usual, "review", refuse)
    assert "does not keep decisions" in seen.text("#storage-note")
    seen.choose(0)
    seen.page.keyboard.press("a")
    assert seen.text("#progress-text").startswith("1 of")


def test_download_holds_the_decisions_and_comes_back_by_import(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    page = seen.page
    page.click("#show-all")
    page.select_option("#group", "")
    page.select_option("#sort", "path")
    for key, verdict in (
        ("a", "mislabelled"),
        ("r", "mislabelled"),
        ("a", "foreign"),
        ("f", "clean"),
        ("a", "unlabelled"),
    ):
        page.click("#show-all")
        page.locator(".chip", has_text=verdict).click()
        page.select_option("#filter-decision", "undecided")
        seen.choose(0)
        page.keyboard.press(key)
    page.select_option("#relabel", str(CLASSES.index("ship")))
    content, rows = seen.download()
    assert list(rows[0]) == [
        "id",
        "path",
        "label",
        "verdict",
        "suggested_label",
        "confidence",
        "decision",
        "new_label",
        "not_a_copy",
    ]
    assert [row["id"] for row in rows] == list(table.id) and [row["path"] for row in rows] == list(table.path)
    shown = [float(row["confidence"] or "nan") for row in rows]
    assert shown == pytest.approx(list(table.confidence), abs=1e-6, nan_ok=True)
    found = {(row["decision"], row["verdict"]): row for row in rows if row["decision"]}
    assert set(found) >= {
        ("accept", "mislabelled"),
        ("not sure", "mislabelled"),
        ("foreign", "foreign"),
        ("foreign", "clean"),
    }
    for row in rows:
        leaves = row["decision"] == "foreign" or row["verdict"] == "unreadable"
        relabelled = "ship" if row["decision"] == "relabel" else row["label"]
        assert row["new_label"] == (
            "" if leaves else row["suggested_label"] if row["decision"] == "accept" else relabelled
        )
    alone = seen.download("#download-decided")[1]
    assert len(alone) == 6 and [row["new_label"] for row in alone if row["decision"] == "not sure"] == [""]

    other = visit(usual)
    other.import_text(content)
    assert "Loaded 6 decisions" in other.said()
    assert other.download()[0] == content
    other.page.click("#undo")
    assert other.text("#progress-text").startswith("0 of")


def test_import_takes_other_files_and_says_what_is_wrong(visit: Any, usual: Path) -> None:
    seen, table = visit(usual), make_table(ROWS)
    lines = ["id;decision;new_label", f"{table.id[0]};relabel;a new class", f"{table.id[1]};perhaps;", "nobody;accept;"]
    seen.import_text("\n".join(lines))
    said = seen.said()
    assert "Loaded 1 decision;" in said and "1 id not" in said and "1 line with" in said
    assert next(row for row in seen.download("#download-decided")[1])["new_label"] == "a new class"
    seen.import_text("name,label\nx,y\n")
    assert "not loaded: it has no column id and decision" in seen.said()
    seen.import_text('id,decision\n"x,accept\n')
    assert "not loaded: a quoted cell has no end" in seen.said()


def hostile_page() -> ReviewPage:
    page = make_page(60, names=HOSTILE, title="<img src=x onerror=window.__hacked=1>")
    labels = tuple(HOSTILE[row % len(HOSTILE)] for row in range(60))
    verdicts = ("mislabelled",) * 30 + page.table.verdict[30:]
    table = replace(
        page.table,
        label=labels,
        suggested_label=labels[1:] + labels[:1],
        verdict=verdicts,
        reason=labels,
        confidence=(0.9,) * 60,
    )
    notes = [{"given": HOSTILE[0], "suggested": HOSTILE[1], "images": 7}]
    summary = {
        "notes": list(HOSTILE),
        "confusions": notes,
        "settings": {HOSTILE[0]: HOSTILE[1]},
        "leaks": list(HOSTILE),
    }
    return replace(page, table=table, class_names=HOSTILE, summary=summary)


def test_hostile_names_are_text_and_travel_unharmed(visit: Any, tmp_path: Path) -> None:
    path = written(tmp_path, hostile_page())
    seen, table = visit(path), hostile_page().table
    page = seen.page
    for tab in ("overview", "map", "about", "review"):
        page.click(f"#tab-{tab}")
    page.click("#show-all")
    page.fill("#filter-text", "<img")
    page.wait_for_timeout(200)
    seen.choose(0)
    assert "<img src=x onerror=window.__hacked=1>" in seen.text("#detail .path") and seen.text("h1").startswith("<img")
    page.fill("#filter-text", "")
    page.click("#show-all")
    page.select_option("#sort", "path")
    for _ in range(15):
        page.keyboard.press("j")
        page.keyboard.press("a")
    page.click("#open-bulk")
    page.fill("#bulk-sureness", "0")
    page.click("#bulk-accept")
    content, rows = seen.download()
    assert [undo_neutralise(row["id"]) for row in rows] == [printable(name) for name in table.id]
    assert [undo_neutralise(row["label"]) for row in rows] == [printable(name) for name in table.label]
    cells = [cell for row in rows for name, cell in row.items() if name != "confidence"]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    other = visit(path)
    other.import_text(content)
    assert other.download()[0] == content
    for each in (seen, other):
        assert each.page.evaluate("window.__hacked") is None
        assert each.page.locator("img, svg[onload]").count() == 0


def test_bidirectional_marks_and_line_ends_are_made_visible(visit: Any, tmp_path: Path) -> None:
    seen = visit(written(tmp_path, hostile_page()))
    seen.page.click("#show-all")
    for part, visible in (
        ("gnp.exe", "⟨U+202E⟩gnp.exe"),
        ("line\nbreak", "line↵break"),
        ("surrogate", "lone\ufffdsurrogate"),
    ):
        seen.page.fill("#filter-text", part.split("\n")[0])
        seen.page.wait_for_timeout(200)
        assert any(visible in label for label in seen.tiles()), part


def test_empty_states_say_what_is_not_there(visit: Any, tmp_path: Path) -> None:
    table = make_table(80)
    table = table.take([row for row, verdict in enumerate(table.verdict) if verdict == "clean"])
    table = replace(table, confidence=(0.9,) * len(table))
    seen = visit(written(tmp_path, ReviewPage("Clean", table, CLASSES, {}, None, lambda row: None)))
    seen.page.locator(".chip", has_text="foreign").click()
    assert "No image was judged foreign." in seen.text("#gallery-empty")
    seen.page.click("#gallery-empty button")
    seen.choose(0)
    seen.page.click("#tab-map")
    assert "made no map" in seen.text("#panel-map")
    seen.page.click("#tab-overview")
    assert "No image was judged mislabelled." in seen.text("#panel-overview")
    seen.page.click("#tab-about")
    assert "left out" in seen.text("#panel-about")
    nothing = visit(written(tmp_path, ReviewPage("Nothing", table.take([]), (), {}, [], lambda row: None)), "overview")
    assert "The table has no images." in nothing.text("#panel-overview")
    nothing.page.click("#tab-review")
    nothing.page.keyboard.press("j")
    nothing.page.click("#tab-map")


def test_says_how_many_have_no_thumbnail(visit: Any, tmp_path: Path) -> None:
    noise = [Image.effect_noise((96, 96), 90) for _ in range(8)]
    page = replace(make_page(400), thumbnails=lambda row: noise[row % 8])
    path = tmp_path / "page.html"
    size = write_page(path, page, max_bytes=330_000)
    assert 0 < size.thumbnails < 400
    seen = visit(path, "about")
    assert f"{size.thumbnails} images of 400 have a thumbnail; " in seen.text("#panel-about")
    seen.page.click("#tab-review")
    seen.page.click("#show-all")
    seen.page.locator(".chip", has_text="clean").click()
    seen.page.select_option("#sort", "surest")
    assert seen.page.locator(".tile .picture.none").count() > 0


@pytest.mark.parametrize("width", [320, 768])
@pytest.mark.parametrize("tab", ["overview", "review", "copies", "map", "about"])
def test_narrow_screens_do_not_scroll_sideways(visit: Any, tmp_path: Path, width: int, tab: str) -> None:
    seen = visit(written(tmp_path, hostile_page()), tab, viewport={"width": width, "height": 640})
    if tab == "review":
        seen.choose(0)
    for selector in (
        "html",
        "main",
        "#panel-overview",
        "#panel-about",
        "#panel-copies",
        "#gallery",
        "#detail",
        ".filters",
    ):
        wide, room = seen.page.evaluate(
            "(s) => { const n = document.querySelector(s); return [n.scrollWidth, n.clientWidth]; }", selector
        )
        assert wide <= room, selector


def test_map_zooms_names_and_selects(visit: Any, usual: Path) -> None:
    seen = visit(usual, "map")
    page = seen.page
    page.click("#show-all")
    seen.until("document.querySelector('.map').dataset.drawn === '1000'")
    box = page.locator(".map").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    found = False
    for step in range(60):
        page.mouse.move(middle[0] - 120 + 4 * step, middle[1])
        if page.is_visible("#tip"):
            found = True
            break
    assert found and page.locator("#tip canvas").count() == 1
    page.mouse.down()
    page.mouse.up()
    assert seen.text("#detail h2 span:last-child") in seen.text("#tip")
    page.mouse.wheel(0, -1500)
    seen.until("Number(document.querySelector('.map').dataset.drawn) < 600")
    page.click('[aria-label="Whole map"]')
    seen.until("document.querySelector('.map').dataset.drawn === '1000'")
    page.locator(".map").focus()
    for _ in range(6):
        page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    seen.until("Number(document.querySelector('.map').dataset.drawn) < 600")


INK = """() => {
    const canvas = document.querySelector('.map');
    const { width, height } = canvas;
    // Reading the page's own canvas twice would be warned of.
    const copy = Object.assign(document.createElement('canvas'), { width, height });
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const pixels = context.getImageData(0, 0, width, height).data;
    let [left, top, right, bottom] = [width, height, 0, 0];
    for (let at = 0; at < width * height; at += 1) {
        if (!pixels[4 * at + 3]) continue;
        const [x, y] = [at % width, Math.floor(at / width)];
        [left, top] = [Math.min(left, x), Math.min(top, y)];
        [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
    }
    return [left, top, width - 1 - right, height - 1 - bottom];
}"""


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (400, 800), (1500, 500)])
def test_whole_map_is_in_sight_and_nothing_covers_it(visit: Any, tmp_path: Path, width: int, height: int) -> None:
    corners = [(0.0, 0.0), (3.0, 4.0), (0.0, 4.0), (3.0, 0.0)]
    page = replace(make_page(40), positions=[corners[row % 4] for row in range(40)])
    seen = visit(written(tmp_path, page), "map", viewport={"width": width, "height": height})
    seen.until("document.querySelector('.map').dataset.drawn > 0")
    assert min(seen.page.evaluate(INK)) >= 8
    box, hint = (seen.page.locator(part).bounding_box() for part in (".map", ".hint"))
    assert box["y"] + box["height"] <= hint["y"] and hint["y"] + hint["height"] <= height
    seen.page.set_viewport_size({"width": width - 60, "height": height - 60})
    seen.page.wait_for_timeout(200)
    assert min(seen.page.evaluate(INK)) >= 8


def test_map_hides_what_does_nothing_there_and_colours_by_class(visit: Any, usual: Path) -> None:
    seen = visit(usual, "map")
    page = seen.page
    assert not page.is_visible("#sort") and not page.is_visible("#group") and not page.is_visible(".legend")
    page.select_option("#colour", "class")
    assert seen.text(".legend").split() == list(CLASSES)
    colours = page.evaluate("[...document.querySelectorAll('.swatch')].map((one) => one.style.background)")
    assert len(set(colours)) == len(CLASSES)
    page.click("#tab-review")
    assert page.is_visible("#sort") and page.is_visible("#group") and not page.is_visible("#colour")


def test_legend_names_twelve_classes_at_most(visit: Any, tmp_path: Path) -> None:
    names = tuple(f"class {number}" for number in range(30))
    page = make_page(90)
    table = replace(page.table, label=tuple(names[row % 30] for row in range(90)))
    seen = visit(written(tmp_path, replace(page, table=table, class_names=names)), "map")
    seen.page.select_option("#colour", "class")
    assert seen.page.locator(".swatch").count() == 12 and "and 18 more classes" in seen.text(".legend")


def test_narrow_screens_show_every_column_of_the_rates(visit: Any, usual: Path) -> None:
    seen = visit(usual, "overview", viewport={"width": 400, "height": 800})
    for cell in seen.page.locator(".by-class tbody tr").first.locator("th, td").all():
        box = cell.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 400
    wide, room = seen.page.evaluate(
        "(() => { const n = document.querySelector('.scroll'); return [n.scrollWidth, n.clientWidth]; })()"
    )
    assert wide <= room


def test_detail_leads_to_neighbours_and_repeats(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.click("#show-all")
    seen.page.locator(".chip", has_text="duplicate").click()
    seen.choose(0)
    assert "The same picture" in seen.text("#detail") and "p-value" in seen.text("#detail")
    first = seen.text("#detail h2")
    seen.page.locator("#detail .linked").first.click()
    assert seen.text("#detail h2") != first
    assert seen.page.evaluate("document.activeElement.closest('#detail') !== null")


CHECKS = (Path(__file__).parent / "page_checks.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_and_contrast(visit: Any, usual: Path, scheme: str) -> None:
    seen = visit(usual, "overview", color_scheme=scheme)
    page = seen.page
    for tab in ("overview", "review", "copies", "map", "about"):
        page.click(f"#tab-{tab}")
        if tab == "review":
            seen.choose(0)
            page.keyboard.press("a")
        assert page.evaluate(CHECKS) == {"nameless": [], "faint": []}
        assert page.evaluate("document.querySelectorAll('[role=tab][tabindex=\"0\"]').length") == 1
    page.click("#tab-review")
    assert page.evaluate("document.querySelectorAll('.tile .main[tabindex=\"0\"]').length") == 1
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    assert page.locator("main, header, aside, h1").count() == 4


def browser_seconds() -> float:
    """Return the CPU time of all processes that this one has started, down to the last.

    Other work on the machine does not change it, as it does the time on the clock.
    """
    children: dict[int, list[tuple[int, int]]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parts = file.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(parts[1]), []).append((int(file.parent.name), int(parts[11]) + int(parts[12])))
    ticks, parents = 0, [os.getpid()]
    while parents:
        for process, used in children.get(parents.pop(), []):
            ticks += used
            parents.append(process)
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="CPU times are read from /proc")
def test_fifty_thousand_images_stay_fluid(visit: Any, tmp_path: Path) -> None:
    few = [make_thumbnail(row, 32) for row in range(64)]
    path = tmp_path / "page.html"
    size = write_page(path, replace(make_page(50_000), thumbnails=lambda row: few[row % 64]))
    assert size.thumbnails == 50_000 and size.bytes < 40_000_000
    seconds: dict[str, float] = {}
    start = browser_seconds()
    seen = visit(path, "overview")
    seconds["open"] = browser_seconds() - start
    script = "(id) => (document.getElementById(id) ?? document.querySelector(`[title='${id}']`)).click()"

    def timed(name: str, act: Callable[[], object]) -> None:
        before = browser_seconds()
        act()
        # Two frames later, what was asked is on the screen.
        seen.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds[name] = browser_seconds() - before

    timed("review", lambda: seen.page.evaluate(script, "tab-review"))
    timed("filter", lambda: seen.page.evaluate(script, "show-all"))
    timed("sort by path", lambda: seen.page.select_option("#sort", "path"))
    timed("scroll", lambda: seen.page.evaluate("document.querySelector('#gallery').scrollTop = 1e6"))
    timed("select all", lambda: seen.page.evaluate(script, "select-shown"))
    assert seen.text("#selection-text") == "50,000 selected"
    timed("keep all", lambda: seen.page.keyboard.press("g"))
    timed("undo", lambda: seen.page.evaluate(script, "undo"))
    timed("copies", lambda: seen.page.evaluate(script, "tab-copies"))
    assert 0 < seen.page.locator(".copy-group").count() <= 20
    timed("map", lambda: seen.page.evaluate(script, "tab-map"))
    timed("zoom", lambda: seen.page.evaluate(script, "Zoom in"))
    assert seen.text("#shown") == "All 50,000 images" and seen.page.get_attribute(".map", "data-drawn")
    # Opening counts all of the browser's processes, most of which work beside each other.
    assert seconds.pop("open") < 4
    assert {name: value for name, value in seconds.items() if value >= 1} == {}
