"""The labels of copies as answers to a duplicate conflict, by mouse and by keyboard."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import CLASSES, make_table
from audit.page.page_visits import written

from lond.audit.correct.apply import plan_corrections
from lond.audit.correct.decisions import read_decisions
from lond.audit.page.write import ReviewPage
from lond.audit.table import AuditTable

pytestmark = pytest.mark.slow

IDS = ("bus.png", "fish.png", "near_a.png", "near_b.png", "near_c.png", "odd_a.png", "odd_b.png")
NAMES = ("bus", "fish", "car", "house", "ship")


def conflicts(**columns: Any) -> AuditTable:
    """Return the same bus in two classes, three near copies in three, and two copies that are none of their labels."""
    table = replace(
        make_table(len(IDS)),
        id=IDS,
        path=IDS,
        verdict=("duplicate conflict",) * len(IDS),
        label=("bus", "fish", "car", "fish", "house", "ship", "fish"),
        suggested_label=("car", "car", "car", "car", "car", "house", "house"),
        confidence=(0.084, 0.084, 0.8, 0.7, 0.75, 0.9, 0.9),
        wrong_score=(0.155, 0.205, 0.15, 0.9, 0.8, 0.948, 0.946),
        foreign_score=(0.785, 0.785, 0.05, 0.06, 0.05, 0.05, 0.05),
        p_value=(math.nan,) * len(IDS),
        duplicate_of=("", IDS[0], "", IDS[2], IDS[2], "", IDS[5]),
        copy=("", "exact", "", "near", "near", "", "exact"),
        quality=((),) * len(IDS),
    )
    return replace(table, **columns)


def page_of(table: AuditTable) -> ReviewPage:
    summary = {"threshold": 0.65, "wrong_threshold": 0.4}
    return ReviewPage("Conflicts", table, NAMES, summary, None, lambda row: None)


@pytest.fixture
def seen(visit: Any, tmp_path: Path) -> Any:
    started = visit(written(tmp_path, page_of(conflicts())))
    started.page.select_option("#sort", "path")
    return started


def answers(seen: Any, place: int) -> list[str]:
    seen.choose(place)
    found = seen.page.locator("#detail .choices button").all_inner_texts()
    return [" ".join(text.split()) for text in found]


def decided(seen: Any) -> dict[str, tuple[str, str]]:
    return {row["id"]: (row["decision"], row["new_label"]) for row in seen.download("#download-decided")[1]}


def test_the_likeliest_label_of_the_copies_is_the_first_answer(seen: Any) -> None:
    assert answers(seen, 0) == ["→ fish S", "Keep label A G", "Foreign F", "Not sure R"]
    assert answers(seen, 1) == ["→ bus A S", "Keep label G", "Foreign F", "Not sure R"]
    assert "undecided; likeliest label of the copies: bus" in seen.text("#detail .decision")
    assert "These come first; bus (6.0 %) is the likeliest of them." in seen.text("#detail")
    assert "By the picture alone, foreign (78.5 %) and car (8.4 %) are likelier." in seen.text("#detail")
    caption = " ".join(seen.text('.tile[aria-posinset="2"] .caption').split())
    assert caption == "fish → bus 6 % ◆ conflict: or foreign 79 %"
    assert not seen.page.locator(".tile.current .from").count()


def test_labels_of_copies_are_taken_by_key(seen: Any) -> None:
    for place, key in ((0, "a"), (1, "a")):
        seen.choose(place)
        seen.page.keyboard.press(key)
    assert decided(seen) == {"bus.png": ("keep", "bus"), "fish.png": ("accept", "bus")}
    for place, key in ((0, "s"), (1, "g")):
        seen.choose(place)
        seen.page.keyboard.press(key)
    assert decided(seen) == {"bus.png": ("relabel", "fish"), "fish.png": ("keep", "fish")}
    seen.choose(0)
    pressed = seen.page.locator('#detail .choices [aria-pressed="true"]')
    assert " ".join(pressed.inner_text().split()) == "→ fish S"


def test_labels_of_copies_are_taken_by_mouse(seen: Any) -> None:
    for place, button in ((1, ".no"), (2, ".yes")):
        tile = seen.page.locator(f'.tile[aria-posinset="{place}"]')
        tile.hover()
        tile.locator(button).click()
    assert decided(seen) == {"bus.png": ("foreign", ""), "fish.png": ("accept", "bus")}
    seen.choose(0)
    seen.page.click('#detail [data-action="accept"]')
    assert decided(seen)["bus.png"] == ("relabel", "fish")


def test_every_label_of_a_larger_group_has_a_button(seen: Any) -> None:
    assert answers(seen, 2)[:2] == ["→ house S", "Keep label A G"]
    card = seen.page.locator('.tile[aria-posinset="3"] .quick button')
    assert card.all_inner_texts() == ["keep car", "house"]
    assert seen.page.locator('#detail [data-action^="copy "]').all_inner_texts() == ["→ fish"]
    seen.page.locator('#detail [data-action^="copy "]').focus()
    seen.page.keyboard.press("Enter")
    seen.choose(4)
    assert answers(seen, 4)[:2] == ["→ car A S", "Keep label G"]
    seen.page.click('#detail [data-action^="copy "]')
    assert decided(seen) == {"near_a.png": ("relabel", "fish"), "near_c.png": ("relabel", "fish")}


def test_labels_without_support_do_not_come_first_but_are_offered(seen: Any) -> None:
    """Both are far likelier a house than what either copy says."""
    assert answers(seen, 5)[:3] == ["→ house A S", "Keep label G", "Foreign F"]
    assert seen.page.locator('#detail [data-action^="copy "]').all_inner_texts() == ["→ fish"]
    seen.page.click("#tab-copies")
    odd = seen.page.locator('.copy-group[data-group="5"] [data-all-are]').all_inner_texts()
    assert odd == ["All are ship", "All are fish", "All are house"]
    bus = seen.page.locator('.copy-group[data-group="0"]')
    assert bus.locator("[data-all-are]").all_inner_texts() == ["All are bus", "All are fish", "All are car"]
    assert bus.locator(".member-verdict").all_inner_texts() == ["◆ duplicate conflict", "◆ duplicate conflict: bus"]


def test_accepting_all_gives_copies_one_label_and_suggestions_do_not_swap_them(seen: Any) -> None:
    seen.page.click("#select-shown")
    seen.page.keyboard.press("s")
    assert decided(seen)["fish.png"] == ("accept", "bus") and "bus.png" not in decided(seen)
    seen.page.click("#select-shown")
    seen.page.keyboard.press("a")
    labels = [label for _, label in decided(seen).values()]
    assert labels == ["bus", "bus", "car", "car", "car", "house", "house"]


def test_decisions_travel_with_the_suggestion_that_was_seen(visit: Any, seen: Any, tmp_path: Path) -> None:
    seen.choose(1)
    seen.page.keyboard.press("a")
    content, rows = seen.download("#download-decided")
    assert [(row["suggested_label"], row["decision"], row["confidence"]) for row in rows] == [("bus", "accept", "0.06")]
    (tmp_path / "decisions.csv").write_text(content, encoding="utf-8")
    plan = plan_corrections(conflicts(), read_decisions(tmp_path / "decisions.csv"))
    assert {image.id: image.label for image in plan.kept} == {"fish.png": "bus"}
    seen.page.wait_for_timeout(300)
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert decided(seen) == {"fish.png": ("accept", "bus")}
    # Other files, and what the browser kept of another version, mean the suggestion of the audit.
    head = "id,label,verdict,suggested_label,decision,new_label"
    seen.import_text(f"{head}\nfish.png,fish,duplicate conflict,car,accept,car")
    assert decided(seen) == {"fish.png": ("relabel", "car")}
    seen.page.wait_for_timeout(300)
    kept = json.dumps({"rows": [1], "codes": [1], "names": {}})
    seen.page.evaluate(
        f"localStorage.setItem(Object.keys(localStorage).find((key) => key.startsWith('lond-audit:')), {kept!r})"
    )
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    assert decided(seen) == {"fish.png": ("relabel", "car")}


def test_a_copy_that_was_decided_has_the_label_that_this_gave_it(visit: Any, tmp_path: Path) -> None:
    table = conflicts(
        decided=("", "", "", "relabel", *[""] * 3),
        verdict=(*["duplicate conflict"] * 3, "mislabelled", *["duplicate conflict"] * 3),
        suggested_label=("car", "car", "car", "ship", "car", "house", "house"),
        confidence=(0.084, 0.084, 0.8, 1.0, 0.75, 0.9, 0.9),
        wrong_score=(0.155, 0.205, 0.15, 1.0, 0.8, 0.948, 0.946),
        foreign_score=(0.785, 0.785, 0.05, 0.0, 0.05, 0.05, 0.05),
    )
    seen = visit(written(tmp_path, page_of(table)))
    seen.page.select_option("#sort", "path")
    # The copies in conflict stand side by side.
    assert answers(seen, 3)[:2] == ["→ car A S", "Keep label G"]
    assert seen.page.locator('#detail [data-action^="copy "]').all_inner_texts() == ["→ ship"]


def test_audits_without_chances_offer_the_other_label_all_the_same(visit: Any, tmp_path: Path) -> None:
    table = conflicts(p_value=(0.5,) * len(IDS), suggested_label=("bus", "bus", *["car"] * 3, "ship", "ship"))
    seen = visit(written(tmp_path, replace(page_of(table), class_names=(*NAMES, *CLASSES))))
    seen.page.select_option("#sort", "path")
    assert answers(seen, 0)[:2] == ["→ fish S", "Keep label A G"]
    assert answers(seen, 1)[:2] == ["→ bus A S", "Keep label G"]
