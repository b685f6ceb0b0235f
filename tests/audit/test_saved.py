"""Reading back what an audit left: from its page, or from the image files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from audit.page.page_samples import make_page, make_thumbnail
from audit.result_samples import make_audit

from lond.audit import Audit
from lond.audit.page.write import write_page
from lond.audit.saved import (
    advice_after,
    check_second_look,
    kept_decisions,
    next_commands,
    picture_of_file,
    read_page,
    read_summary,
    table_of,
    writable,
)
from lond.errors import ConfigError, DataError
from lond.io.json_files import read_json, write_json


def test_a_page_gives_title_map_and_pictures_by_id(tmp_path: Path) -> None:
    page = make_page(30)
    write_page(tmp_path / "audit.html", page)
    table = page.table.take([7, 2])
    saved = read_page(tmp_path / "audit.html", replace(table, id=(table.id[0], "new.png")))
    assert saved.title == page.title
    assert saved.rows == [7, -1]
    whole = read_page(tmp_path / "audit.html", page.table)
    assert saved.positions()[0] == whole.positions()[7]
    assert all(math.isnan(value) for value in saved.positions()[1])
    assert saved.thumbnails()(0).size == page.thumbnails(7).size
    assert saved.thumbnails()(1) is None


def test_a_page_without_a_map_has_none(tmp_path: Path) -> None:
    page = replace(make_page(9), positions=None)
    write_page(tmp_path / "audit.html", page)
    assert read_page(tmp_path / "audit.html", page.table).positions() is None


@pytest.mark.parametrize("data", ["", "[]", "{", '{"title": "x"}', '{"title": "x", "columns": {"id": 3}}'])
def test_a_page_of_another_version_is_none(data: str, tmp_path: Path) -> None:
    table = make_page(3).table
    assert read_page(tmp_path / "missing.html", table) is None
    (tmp_path / "audit.html").write_text(f'<script type="application/json" id="data">{data}</script>')
    assert read_page(tmp_path / "audit.html", table) is None


def test_a_summary_that_is_none_says_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"images": 3}')
    assert read_summary(tmp_path / "summary.json") == {"images": 3}
    with pytest.raises(DataError, match=r"other\.json.*; give the folder that an audit was saved in"):
        read_summary(tmp_path / "other.json")


def test_bytes_that_no_encoding_holds_are_spelled_out() -> None:
    assert writable({"a\udce9": ["b\udc80", ("ä", 1, None)]}) == {"a\\udce9": ["b\\udc80", ["ä", 1, None]]}


def test_pictures_of_files_are_small_and_failures_are_none(tmp_path: Path) -> None:
    make_thumbnail(1, 300).save(tmp_path / "large.png")
    make_thumbnail(1, 40).save(tmp_path / "small.png")
    (tmp_path / "text.png").write_text("no image")
    sizes = [picture_of_file(tmp_path / f"{name}.png").size for name in ("large", "small")]
    assert sizes == [(192, 192), (40, 40)]
    for name in ("text.png", "missing.png", ".", "nul\0.png"):
        assert picture_of_file(tmp_path / name) is None


def test_the_folder_of_an_audit_leads_to_its_table(tmp_path: Path) -> None:
    assert table_of(tmp_path) == tmp_path
    (tmp_path / "audit-parts").mkdir()
    assert table_of(tmp_path) == tmp_path / "audit-parts"
    for name in ("audit.parquet", "audit.csv"):
        (tmp_path / name).touch()
        assert table_of(tmp_path) == table_of(tmp_path / name) == tmp_path / name


def test_a_second_look_is_not_overwritten_by_a_first_one(tmp_path: Path) -> None:
    found = make_audit(20)
    check_second_look(tmp_path)
    (tmp_path / "summary.json").write_text("{")
    check_second_look(tmp_path)
    found.save(tmp_path)
    look = {"decided": 3, "taught": 2, "key": "12ab", "model": ""}
    again = replace(found, summary=found.summary | {"second_look": look})
    again.save(tmp_path)
    again.save(tmp_path)
    before = (tmp_path / "audit.csv").read_bytes()
    with pytest.raises(ConfigError, match=r"second look with 3 decided image.*give the same --decisions file"):
        found.save(tmp_path)
    kept_decisions(tmp_path, "12ab").write_text("id,decision\n")
    with pytest.raises(ConfigError, match=r"--decisions \S*decisions-12ab.csv to keep them, or another --out"):
        check_second_look(tmp_path)
    assert (tmp_path / "audit.csv").read_bytes() == before
    write_json(tmp_path / "summary.json", {"second_look": {}})
    with pytest.raises(ConfigError, match="some decided image"):
        check_second_look(tmp_path)


def test_a_third_audit_still_tells_how_decided_images_were_judged_at_first(tmp_path: Path) -> None:
    found = make_audit(20)
    first, second, third = found.table.id[:3]
    table = replace(found.table, decided=tuple("keep" if name in (first, second) else "" for name in found.table.id))

    def look(judged: dict[str, list[object]]) -> Audit:
        facts = {"decided": 2, "taught": 2, "key": "12ab", "model": "", "judged": judged}
        return replace(found, table=table, summary=found.summary | {"second_look": facts})

    look({first: ["mislabelled", "dog", 0.7], second: ["foreign", "", 0.6], third: ["foreign", "", 0.9]}).save(tmp_path)
    look({second: ["clean", "", 0.8]}).save(tmp_path)
    judged = read_json(tmp_path / "summary.json")["second_look"]["judged"]
    assert judged == {first: ["mislabelled", "dog", 0.7], second: ["clean", "", 0.8]}, "the third is undecided again"


def test_decisions_that_an_audit_took_in_are_not_asked_for_again() -> None:
    told = advice_after("audit", 0, "nowhere").splitlines()
    assert [line.split(":  ")[-1].strip() for line in told[1:]] == list(next_commands("audit"))
    assert "again" in told[1] and "corrected set" in told[2]
    assert advice_after("audit", 1).startswith("your decision is in this audit; next: ")
    assert advice_after("my audit", 47) == (
        "your 47 decisions are in this audit; next: lond apply 'my audit' --out corrected --write "
        "(add --decisions decisions.csv for new ones)"
    )
