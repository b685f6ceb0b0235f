from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit.page.page_samples import CLASSES, HOSTILE, make_page, make_table, numbers, texts
from PIL import Image

from lond.audit.page.columns import need_order
from lond.audit.page.sprites import SIDES
from lond.audit.page.write import SCRIPTS, PageSize, ReviewPage, write_page
from lond.errors import DataError


def read(path: Path) -> tuple[str, dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    data = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert len(data) == 1
    return text, json.loads(data[0])


def sheets(text: str) -> list[Image.Image]:
    found = re.findall(r'<script type="text/plain" id="sheet-\d+">([^<]*)</script>', text)
    return [Image.open(io.BytesIO(base64.b64decode(sheet))) for sheet in found]


def test_page_is_one_bounded_file_without_addresses(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    size = write_page(path, make_page(60))
    text, data = read(path)
    assert size.bytes == path.stat().st_size and size.side == 96 and list(tmp_path.iterdir()) == [path]
    assert size.thumbnails == data["sprites"]["count"] == sum(v != "unreadable" for v in make_table(60).verdict)
    addresses = set(re.findall(r"https?://[^\"' ]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(
        r"<link|<script[^>]+src=|@import|url\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text
    )


def test_policy_names_the_script_and_the_style(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", make_page(5))
    text, _ = read(tmp_path / "page.html")
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)[0]
    assert policy.startswith("default-src 'none'; ") and "img-src data: blob:" in policy and "unsafe" not in policy
    for tag in ("script", "style"):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(content) == 1
        digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_names_stay_inside_the_data(tmp_path: Path) -> None:
    names = (*HOSTILE, *("\u2028", "]]>", "\x00\x1b", "{{SCRIPT}}"))
    page = make_page(len(names) + 20, names=names, title="</title><script>alert(1)</script>{{DATA}}\udc80")
    page = replace(page, class_names=(*CLASSES, *HOSTILE), summary={"notes": list(HOSTILE), "</script>": "<b>"})
    write_page(tmp_path / "page.html", page)
    text, data = read(tmp_path / "page.html")
    assert tuple(texts(data["columns"]["id"])) == page.table.id
    assert data["title"] == page.title and data["summary"]["notes"] == list(HOSTILE)
    assert text.count("<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{DATA}}?</title>") == 1
    inner = text[text.index('id="data">') + 10 :]
    inner = inner[: inner.index("</script>")]
    assert inner.isascii() and not set("<>&") & set(inner)
    assert len(re.findall(r"<script", text)) == 2 + len(data["sprites"]["firsts"])


def test_missing_parts_and_odd_numbers_are_allowed(tmp_path: Path) -> None:
    empty = replace(make_table(9).take([]))
    page = ReviewPage("Nothing", empty, (), {}, None, lambda row: None)
    assert write_page(tmp_path / "empty.html", page) == PageSize((tmp_path / "empty.html").stat().st_size, 0, 0)
    odd = {
        "images": np.int64(3),
        "rates": {"closed": {"estimate": math.nan, "low": math.inf}},
        "settings": {1: Path("x")},
    }
    write_page(tmp_path / "odd.html", replace(page, table=make_table(3), positions=[(0, 0)] * 3, summary=odd))
    summary = read(tmp_path / "odd.html")[1]["summary"]
    assert summary == {"images": 3, "rates": {"closed": {"estimate": None, "low": None}}, "settings": {"1": "x"}}


def test_thumbnails_are_found_in_their_sheets(tmp_path: Path) -> None:
    page = make_page(600)
    write_page(tmp_path / "page.html", page)
    text, data = read(tmp_path / "page.html")
    described, pictures = data["sprites"], sheets(text)
    slots, sizes = numbers(described["slots"]), numbers(described["sizes"]).reshape(-1, 2)
    for row in (0, 1, 2, 3, 250, 599):
        original = page.thumbnails(row)
        if original is None:
            assert slots[row] == -1
            continue
        sheet = int(np.searchsorted(described["firsts"], slots[row], side="right")) - 1
        line, column = divmod(int(slots[row]) - described["firsts"][sheet], described["columns"])
        margin, (width, height) = described["margin"], sizes[row].tolist()
        left, top = (margin + at * (described["side"] + 2 * margin) for at in (column, line))
        assert (width, height) == original.size
        cut = pictures[sheet].convert("RGB").crop((left, top, left + width, top + height))
        assert np.abs(np.asarray(cut, dtype=float) - np.asarray(original, dtype=float)).mean() < 8


def noisy(row: int) -> Image.Image:
    pixels = np.random.default_rng(row).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@pytest.mark.parametrize(("budget", "side"), [(3_000_000, 96), (1_200_000, 64), (760_000, 48), (480_000, 32)])
def test_side_is_the_largest_that_fits(budget: int, side: int, tmp_path: Path) -> None:
    page = replace(make_page(260), thumbnails=noisy)
    size = write_page(tmp_path / "page.html", page, max_bytes=budget)
    assert size.side == side and size.thumbnails == 260 and size.bytes <= budget


def test_most_suspicious_images_come_first_where_not_all_fit(tmp_path: Path) -> None:
    page = replace(make_page(600), thumbnails=noisy)
    size = write_page(tmp_path / "page.html", page, max_bytes=380_000)
    assert size.side == SIDES[-1] and 0 < size.thumbnails < 600 and 250_000 < size.bytes <= 380_000
    slots = numbers(read(tmp_path / "page.html")[1]["sprites"]["slots"])
    assert [row for row in need_order(page.table) if slots[row] >= 0] == need_order(page.table)[: size.thumbnails]


def test_table_that_does_not_fit_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="allow a larger page"):
        write_page(tmp_path / "page.html", make_page(500), max_bytes=60_000)
    assert not list(tmp_path.iterdir())


def test_positions_must_match_the_rows(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 positions for 5 images"):
        write_page(tmp_path / "page.html", replace(make_page(5), positions=[(0, 0), (1, 1)]))


def test_key_changes_with_the_verdicts_only(tmp_path: Path) -> None:
    page = make_page(30)
    other = replace(page.table, verdict=("clean", *page.table.verdict[1:]), label=("cat", *page.table.label[1:]))

    def key(**changes: Any) -> str:
        write_page(tmp_path / "page.html", replace(page, **changes))
        return str(read(tmp_path / "page.html")[1]["key"])

    assert key() == key(title="Another", summary={}, positions=None) != key(table=other)


def test_every_asset_is_used() -> None:
    folder = Path(__file__).parents[3] / "src" / "lond" / "audit" / "page" / "assets"
    page = {"page.html", "page.css", *(f"{name}.js" for name in SCRIPTS)}
    assert {file.name for file in folder.iterdir()} == page | {"notebook.css"}
