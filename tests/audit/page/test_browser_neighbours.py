"""The nearest images in the panel: whole pictures, and labels that can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import make_page
from audit.page.page_visits import written
from PIL import Image

pytestmark = pytest.mark.slow

LONG, LONGER = "great crested grebe", "Donaudampfschifffahrtsgesellschaft " * 4

IS_WIDE_PICTURE = """(node) => {
    const scratch = document.createElement("canvas");
    const context = scratch.getContext("2d", { willReadFrequently: true });
    [scratch.width, scratch.height] = [100, 100];
    context.drawImage(node, 0, 0, 100, 100);
    const isOpaque = (x, y) => context.getImageData(x, y, 1, 1).data[3] === 255;
    return isOpaque(3, 50) && isOpaque(96, 50) && !isOpaque(50, 10);
}"""
"""Test that a canvas shows a wide picture from edge to edge, with nothing above it."""


def test_neighbours_are_shown_whole_with_their_labels(visit: Any, tmp_path: Path) -> None:
    page = make_page(20)
    table = replace(page.table, label=(LONG, LONGER) * 10, duplicate_of=("",) * 20, copy=())
    wide = replace(page, table=table, thumbnails=lambda row: Image.new("RGB", (96, 32), (200, 30, 30)))
    seen = visit(written(tmp_path, wide))
    seen.page.click("#show-all")
    seen.choose(0)
    links = seen.page.locator("#detail .linked")
    assert links.count() == 8
    seen.until(f"[...document.querySelectorAll('#detail .linked canvas')].every({IS_WIDE_PICTURE})")
    for link in links.all():
        title, name = link.get_attribute("title"), link.locator("bdi")
        label = LONG if LONG in title else LONGER.strip()
        assert label in title and title == link.get_attribute("aria-label")
        assert name.evaluate("(node) => node.scrollWidth <= node.clientWidth")
        if label == LONG:
            assert name.inner_text() == LONG and name.evaluate("(node) => node.scrollHeight <= node.clientHeight")
