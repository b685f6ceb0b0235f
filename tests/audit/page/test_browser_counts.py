"""Counts and chances that must fit together on the page: skipped images, and images without a label."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import doubtful, make_page
from audit.page.page_visits import written
from audit.page.test_browser_choices import few

pytestmark = pytest.mark.slow


def test_skipped_images_of_an_earlier_look_are_told_apart(visit: Any, tmp_path: Path) -> None:
    page = make_page(80)
    wrong = [row for row, verdict in enumerate(page.table.verdict) if verdict == "mislabelled"][:2]
    words = tuple("not sure" if row in wrong else "" for row in range(80))
    seen = visit(written(tmp_path, replace(page, table=replace(page.table, decided=words))), "overview")
    card = '.card[data-verdict="mislabelled"]'
    assert seen.text(f"{card} .card-number") == str(page.table.verdict.count("mislabelled"))
    assert seen.text("#subtitle").endswith("second look")
    assert seen.text(f"{card} .card-note") == "2 marked not sure by you: stay as they are"
    assert not seen.page.is_visible('.card[data-verdict="clean"] .card-note')
    seen.page.click("#open-decisions")
    assert seen.text("#decisions-text") == (
        "You have decided on 2 images: 2 marked not sure (left as is). Of these, 2 from before, 0 new."
    )
    seen.page.click("#clear")
    assert not seen.page.is_visible(f"{card} .card-note")
    assert seen.text("#progress-text").startswith("0 of")


def test_progress_and_list_speak_of_the_same_doubts_in_a_second_look(visit: Any, tmp_path: Path) -> None:
    page = make_page(80)
    rows = {kind: [row for row, each in enumerate(page.table.verdict) if each == kind] for kind in page.table.verdict}
    words = [""] * 80
    for row in rows["clean"][:3]:
        words[row] = "keep"
    for row in rows["mislabelled"][:2]:
        words[row] = "relabel"
    sure = tuple(1.0 if word else value for word, value in zip(words, page.table.confidence, strict=True))
    table = replace(page.table, decided=tuple(words), confidence=sure)
    seen = visit(written(tmp_path, replace(page, table=table)))
    total = sum(doubtful(table))
    assert seen.text("#progress-text") == f"2 of {total} doubts decided"
    assert seen.text("#shown") == f"{total} of 80 images: the doubts"
    assert seen.text("#select-shown") == f"Select all {total}"
    assert seen.text("#progress-rest") == "+ 3 others = 5: 5 from before, 0 new"
    seen.page.hover("#progress-text .term")
    assert "You decided on 3 other images as well" in seen.text("#explanation")
    assert seen.text("#explanation").endswith("Of 5 decisions, 5 from before, 0 new.")
    seen.choose(0)
    seen.page.keyboard.press("f")
    assert seen.text("#progress-rest") == "+ 3 others = 6: 5 from before, 1 new"
    seen.page.select_option("#filter-decision", "relabel")
    seen.choose(0)
    seen.page.keyboard.press("r")
    assert seen.text("#progress-text") == f"3 of {total} doubts decided"
    assert seen.text("#progress-rest") == "+ 3 others = 6: 4 from before, 2 new"
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert seen.text("#progress-rest") == "+ 3 others = 6: 4 from before, 2 new"
    for width in (1280, 1200, 1024, 800):
        seen.page.set_viewport_size({"width": width, "height": 800})
        tabs, box, top = (seen.page.locator(part).bounding_box() for part in (".tabs", ".progress", ".top"))
        assert box["y"] + box["height"] <= top["y"] + top["height"]
        assert tabs["x"] + tabs["width"] <= box["x"] or tabs["y"] >= box["y"] + box["height"], width
    for width in (420, 400):
        seen.page.set_viewport_size({"width": width, "height": 800})
        assert not seen.page.is_visible("#progress-rest")
        subtitle, bar = (seen.page.locator(part).bounding_box() for part in ("#subtitle", "#progress"))
        assert bar["y"] + bar["height"] <= subtitle["y"]


def test_a_first_look_keeps_no_decisions(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.choose(0)
    seen.page.keyboard.press("f")
    assert not seen.page.is_visible("#progress-rest")
    seen.page.click("#open-decisions")
    assert "from before" not in seen.text("#decisions-text")


def test_the_tally_of_decisions_adds_up_by_what_becomes_of_the_images(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.click("#show-all")
    seen.page.select_option("#sort", "surest")
    for verdict, keys in (("mislabelled", "srf"), ("foreign", "ag"), ("clean", "a")):
        seen.page.locator("#chips .chip", has_text=verdict).click()
        for place, key in enumerate(keys):
            seen.choose(place)
            seen.page.keyboard.press(key)
        seen.page.locator("#chips .chip", has_text=verdict).click()
    seen.page.click("#open-decisions")
    assert seen.text("#decisions-text") == (
        "You have decided on 6 images (5 doubts and 1 other): "
        "1 changed as suggested, 2 kept as labelled, 2 marked foreign, 1 marked not sure (left as is)."
    )
    assert seen.text("#progress-text").startswith("5 of ") and seen.text("#progress-rest") == "+ 1 other = 6"
    seen.page.keyboard.press("Escape")
    for word, images in (("accept", 1), ("keep", 2), ("foreign", 2), ("not sure", 1)):
        seen.page.select_option("#filter-decision", word)
        assert seen.text("#shown").startswith(f"{images} of "), word


def test_the_count_of_doubts_tells_its_parts(visit: Any, usual: Path) -> None:
    seen = visit(usual)
    seen.page.hover("#progress-text .term")
    parts = seen.text("#explanation").split(": ")[1].split(".")[0].split(" + ")
    total = sum(int(part.split(" ")[0]) for part in parts)
    assert seen.text("#progress-text") == f"0 of {total} doubts decided" and "unsure" in parts[-1]


def test_an_image_without_a_label_has_no_chance_of_a_wrong_one(visit: Any, tmp_path: Path) -> None:
    page = few()
    verdict = ("unlabelled", *page.table.verdict[1:])
    changes = {"label": ("", *page.table.label[1:]), "wrong_score": (math.nan, *page.table.wrong_score[1:])}
    seen = visit(written(tmp_path, replace(page, table=replace(page.table, verdict=verdict, **changes))))
    seen.page.click("#show-all")
    tile = next(place for place, label in enumerate(seen.tiles()) if "unlabelled" in label)
    card = f'.tile[aria-posinset="{tile + 1}"]'
    assert " ".join(seen.text(f"{card} .labels").split()) == "no label → foreign 63 %"
    assert " ".join(seen.text(f"{card} .facts").split()) == "✚ or cat 30 %"
    seen.choose(tile)
    assert "Label wrong" not in seen.text("#detail") and "Foreign score 63.0 %" in seen.text("#detail .chances")


def test_the_panel_leads_to_the_picture_itself(visit: Any, tmp_path: Path) -> None:
    page = few()
    names = ("a b/ü#?.png", "../up.png", "/etc/passwd", "lone\udc80.png", "e.png", "f.png")
    table = replace(page.table, id=names, path=names)
    seen = visit(written(tmp_path, replace(page, table=table, root=(tmp_path / "photos").as_uri())))
    seen.page.click("#show-all")
    seen.page.select_option("#sort", "path")
    found = []
    for place in range(6):
        seen.choose(place)
        link = seen.page.locator("#open-picture")
        found.append(link.get_attribute("href") if link.count() else "")
    root = (tmp_path / "photos").as_uri()
    assert sorted(filter(None, found)) == [f"{root}/a%20b/%C3%BC%23%3F.png", f"{root}/e.png", f"{root}/f.png"]
    seen = visit(written(tmp_path, page))
    seen.choose(0)
    assert seen.page.locator("#open-picture").count() == 0


def test_decisions_are_counted_by_the_resulting_label(visit: Any, tmp_path: Path) -> None:
    page = few()
    labels = {"verdict": ("mislabelled",) * 4 + ("clean",) * 2, "suggested_label": ("dog",) * 4 + ("cat",) * 2}
    chances = {"confidence": (0.9,) * 6, "wrong_score": (0.92,) * 4 + (0.05,) * 2, "foreign_score": (0.03,) * 6}
    copies = {"duplicate_of": ("", page.table.id[0], *[""] * 4), "copy": ("", "near", *[""] * 4)}
    table = replace(page.table, **labels, **chances, **copies, label=("cat", "bird", *["cat"] * 4))
    seen = visit(written(tmp_path, replace(page, table=table)), "copies")
    seen.page.locator("[data-all-are]", has_text="dog").click()
    seen.page.click("#tab-review")
    seen.page.select_option("#sort", "path")
    for place, label in ((2, "dog"), (3, "frog")):
        seen.choose(place)
        seen.page.select_option("#relabel", label=label)
    assert seen.said().startswith("Relabelled (frog)")
    seen.page.select_option("#filter-decision", "accept")
    assert seen.text("#shown").startswith("3 of 6")
    seen.page.select_option("#filter-decision", "relabel")
    assert seen.text("#shown").startswith("1 of 6")
    seen.page.click("#open-decisions")
    assert "3 changed as suggested, 1 given another label" in seen.text("#decisions-text")
    seen.page.keyboard.press("Escape")
    words = sorted(row["decision"] for row in seen.download("#download-decided")[1])
    assert words == ["accept", "accept", "accept", "relabel"]
    seen.page.click("#reset")
    seen.choose(3)
    seen.page.select_option("#relabel", label="cat")
    assert seen.said().startswith("Label kept (stays cat)")


def test_earlier_labels_that_were_suggested_count_as_suggestions(visit: Any, tmp_path: Path) -> None:
    page = few()
    table = replace(
        page.table,
        verdict=("mislabelled", "mislabelled", *["clean"] * 4),
        suggested_label=("dog", "frog", *["cat"] * 4),
        confidence=(1.0,) * 6,
        wrong_score=(1.0, 1.0, *[0.0] * 4),
        foreign_score=(0.0,) * 6,
        decided=("relabel", "relabel", *[""] * 4),
    )
    judged = {table.id[0]: ["mislabelled", "dog", 0.8], table.id[1]: ["mislabelled", "dog", 0.8]}
    summary = {"second_look": {"judged": judged}}
    seen = visit(written(tmp_path, replace(page, table=table, summary=summary)))
    assert "1 changed as suggested, 1 given another label" in str(seen.page.text_content("#decisions-text"))
