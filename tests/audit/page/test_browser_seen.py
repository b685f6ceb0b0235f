"""Which part of a picture was judged, as the page shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_visits import written
from audit.page.test_browser_answers import torn
from PIL import Image

from lond.audit.page.write import ReviewPage

pytestmark = pytest.mark.slow

SHAPES = ((96, 90), (64, 96), (96, 32))
"""Nearly square, clearly tall, very wide."""


def shaped(seen: str) -> ReviewPage:
    page = torn()
    summary = page.summary | {"seen": seen}
    return replace(page, summary=summary, thumbnails=lambda row: Image.new("RGB", SHAPES[row], (180, 60, 60)))


def by_path(visit: Any, path: Path) -> Any:
    seen = visit(path)
    seen.page.select_option("#sort", "path")
    return seen


def test_a_frame_shows_what_was_judged_of_a_long_picture(visit: Any, tmp_path: Path) -> None:
    seen = by_path(visit, written(tmp_path, shaped("centre square")))
    seen.choose(0)
    assert not seen.page.locator(".seen-frame, #seen-note").count()
    buttons = seen.page.locator("#detail .choices").bounding_box()
    for place, share in ((1, 64 / 96), (2, 32 / 96)):
        seen.choose(place)
        look, frame = (seen.page.locator(part).bounding_box() for part in ("#detail .look canvas", ".seen-frame"))
        assert frame["width"] == pytest.approx(share * look["width"], abs=1.5)
        assert frame["height"] == pytest.approx(frame["width"], abs=0.5)
        assert frame["x"] - look["x"] == pytest.approx((look["width"] - frame["width"]) / 2, abs=1.5)
        assert frame["y"] - look["y"] == pytest.approx((look["height"] - frame["height"]) / 2, abs=1.5)
        assert "the network did not see the rest" in seen.text("#seen-note")
        assert seen.page.locator("#detail .choices").bounding_box() == buttons


def test_only_the_card_of_a_very_long_picture_has_a_mark(visit: Any, tmp_path: Path) -> None:
    seen = by_path(visit, written(tmp_path, shaped("centre square")))
    assert seen.page.locator(".badge").count() == 1
    card = '.tile[aria-posinset="3"]'
    assert seen.text(f"{card} .badge") == "centre only"
    assert "judged by its centre square only" in seen.page.get_attribute(f"{card} .main", "title").split("\n")
    assert ["centre square only" in label for label in seen.tiles()] == [False, False, True]
    seen.choose(2)
    seen.page.keyboard.press("f")
    assert seen.page.is_visible(f"{card} .stamp") and not seen.page.is_visible(f"{card} .badge")


def test_long_pictures_that_were_seen_in_three_squares_have_no_frame(visit: Any, tmp_path: Path) -> None:
    page = shaped("centre square, of long pictures three squares")
    summary = page.summary | {"settings": {"extractor": {"squares_beyond": 2}}}
    seen = by_path(visit, written(tmp_path, replace(page, summary=summary)))
    assert not seen.page.locator(".badge").count()
    for place, frames, words in ((1, 1, "framed square only"), (2, 0, "three squares together")):
        seen.choose(place)
        assert seen.page.locator(".seen-frame").count() == frames and words in seen.text("#seen-note")


@pytest.mark.parametrize(
    ("part", "words"), [("whole", "squeezed into a square"), ("whole, padded", "grey beside it"), ("", "")]
)
def test_a_picture_that_was_not_cut_has_no_frame(visit: Any, tmp_path: Path, part: str, words: str) -> None:
    seen = by_path(visit, written(tmp_path, shaped(part)))
    seen.choose(2)
    assert not seen.page.locator(".seen-frame, .badge").count()
    assert seen.page.locator("#seen-note").count() == (1 if words else 0)
    assert not words or words in seen.text("#seen-note")
