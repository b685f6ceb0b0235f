"""Pages of large sets: which images are on which page, and that every image is on one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from audit.page.page_samples import CLASSES, make_page

from lond.audit.page import by_class
from lond.audit.page.by_class import grouped, sample, shown, write_pages
from lond.audit.page.columns import need_order


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_class, "ONE_PAGE", 60)


def test_few_images_are_on_one_page(tmp_path: Path) -> None:
    write_pages(tmp_path / "audit.html", make_page(60), max_bytes=10**7)
    assert [path.name for path in tmp_path.iterdir()] == ["audit.html"]


def test_a_sample_is_half_the_most_suspicious_and_half_the_others() -> None:
    page = make_page(200)
    places = sample(page)
    assert len(set(places)) == 60 and places == sorted(places)
    assert set(need_order(page.table)[:30]) <= set(places)


def test_every_image_is_on_the_page_of_its_class() -> None:
    page = make_page(200)
    groups = grouped(page)
    assert sorted(place for _, places in groups for place in places) == list(range(200))
    for names, places in groups:
        assert {page.table.label[place] for place in places} == {name for name, _ in names}
        assert sum(count for _, count in names) == len(places)
        assert len(names) == 1 or len(places) <= 60


def test_the_shown_part_keeps_its_places_and_pictures() -> None:
    page = make_page(20)
    part = shown(page, [7, 3])
    assert part.table.id == (page.table.id[7], page.table.id[3])
    assert page.positions is not None and part.positions == [page.positions[7], page.positions[3]]
    ours, theirs = part.thumbnails(1), page.thumbnails(3)
    assert (ours is None and theirs is None) or ours.tobytes() == theirs.tobytes()  # type: ignore[union-attr]


def test_many_images_get_pages_by_class_and_an_index(tmp_path: Path) -> None:
    write_pages(tmp_path / "audit.html", make_page(200), max_bytes=10**7)
    index = (tmp_path / "classes" / "index.html").read_text()
    links = re.findall(r'href="(\d+\.html)"', index)
    assert all((tmp_path / "classes" / name).is_file() for name in links)
    assert all(name in index for name in CLASSES)
    first = (tmp_path / "audit.html").read_text()
    assert "this page shows 60 of 200 images" in first


def test_pages_by_class_keep_what_is_true_of_every_image(tmp_path: Path) -> None:
    page = make_page(200)
    facts = {"threshold": 0.6, "wrong_threshold": 0.41, "seen": "centre square"}
    write_pages(tmp_path / "audit.html", replace(page, summary=page.summary | facts), max_bytes=10**7)
    for path in sorted((tmp_path / "classes").glob("0*.html")):
        (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL)
        summary = json.loads(data)["summary"]
        assert {name: summary[name] for name in facts} == facts and "notes" not in summary
