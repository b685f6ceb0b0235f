"""What becomes of the table that a folder held before."""

from dataclasses import replace
from pathlib import Path

import pytest
from audit.result_samples import make_audit

from lond.audit import Audit
from lond.audit.correct.apply import plan_corrections
from lond.audit.earlier_tables import keeping_earlier, kept_tables, told_kept
from lond.audit.saved import table_of
from lond.audit.table import read_audit


@pytest.fixture(scope="module")
def found() -> Audit:
    return make_audit()


def decided(found: Audit, word: str) -> Audit:
    words = (word, *[""] * (len(found) - 1))
    return replace(found, table=replace(found.table, decided=words))


def test_only_a_table_that_differs_is_kept(found: Audit, tmp_path: Path) -> None:
    found.save(tmp_path)
    found.save(tmp_path)
    assert not kept_tables(tmp_path) and not (tmp_path / "earlier").exists()
    first = (tmp_path / "audit.csv").read_bytes()
    decided(found, "keep").save(tmp_path)
    decided(found, "not sure").save(tmp_path)
    decided(found, "not sure").save(tmp_path)
    assert [place.name for place in kept_tables(tmp_path)] == ["1", "2"]
    assert (tmp_path / "earlier" / "1" / "audit.csv").read_bytes() == first
    assert read_audit(table_of(tmp_path / "earlier" / "2")).decided[0] == "keep"
    assert (tmp_path / "earlier" / "2" / "summary.json").is_file()
    assert "<html" in (tmp_path / "earlier" / "1" / "audit.html").read_text(encoding="utf-8")
    assert "with its page" in told_kept(tmp_path / "earlier" / "1")
    assert len(plan_corrections(read_audit(table_of(tmp_path / "earlier" / "1")))) == len(found)


def test_a_large_page_is_not_kept(found: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lond.audit.earlier_tables.LARGE", 1_000)
    found.save(tmp_path)
    decided(found, "keep").save(tmp_path)
    (kept,) = kept_tables(tmp_path)
    assert (kept / "audit.csv").is_file() and not (kept / "audit.html").exists()
    assert "without a page: there was none, or one above 0 MB" in told_kept(kept)


def test_a_table_in_parts_is_kept_as_well(tmp_path: Path) -> None:
    part = tmp_path / "audit-parts" / "part-00001-of-00001.parquet"
    part.parent.mkdir()
    part.write_bytes(b"old")
    with keeping_earlier(tmp_path):
        part.write_bytes(b"new")
    assert (tmp_path / "earlier" / "1" / "audit-parts" / part.name).read_bytes() == b"old"


def test_nothing_is_lost_where_writing_fails(found: Audit, tmp_path: Path) -> None:
    found.save(tmp_path)
    before = (tmp_path / "audit.csv").read_bytes()

    def fail() -> None:
        with keeping_earlier(tmp_path):
            (tmp_path / "audit.csv").unlink()
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert (kept_tables(tmp_path)[0] / "audit.csv").read_bytes() == before
