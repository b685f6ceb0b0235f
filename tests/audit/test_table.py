"""The audit's table: what is written comes back, whatever the names, and wrong files are refused."""

import csv
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from lond.audit import table as module
from lond.audit.table import (
    NUMBERS,
    TEXTS,
    AuditTable,
    read_audit,
    read_csv,
    read_parquet,
    write_csv,
    write_parquet,
    write_parts,
)
from lond.errors import DataError

NAN = math.nan
HOSTILE = (
    *('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "'=already", "''-twice", "'quoted'", "\ttab", "\rreturn"),
    *("two\nlines", "a,b;c\td", 'say "no"', "<script>alert(1)</script>", "日本語 ünï", "a|b", "back\\slash", "end\\"),
    *("\\|", "||", " spaces ", "nul\0"),
)


def table_of(ids: tuple[str, ...], **columns: Any) -> AuditTable:
    count = len(ids)
    values: dict[str, Any] = dict.fromkeys(TEXTS, ("",) * count)
    values |= dict.fromkeys(NUMBERS, (NAN,) * count)
    values |= {"id": ids, "verdict": ("clean",) * count, "neighbours": ((),) * count}
    return AuditTable(**values | columns)


def assert_same(one: AuditTable, other: AuditTable) -> None:
    for field in fields(AuditTable):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        if field.name in NUMBERS:
            assert mine == pytest.approx(its, nan_ok=True, rel=1e-5)
        else:
            assert mine == its, field.name


def small() -> AuditTable:
    return table_of(
        ("a", "b", "c"),
        label=("cat", "dog", ""),
        verdict=("clean", "mislabelled", "duplicate conflict"),
        suggested_label=("cat", "cat", ""),
        confidence=(0.987654, 0.5, NAN),
        p_value=(1.0, NAN, 1e-9),
        negative_margin=(-0.25, math.inf, 0.0),
        duplicate_of=("", "", "a"),
        neighbours=(("b", "c"), ("a",), ()),
        copy=("", "", "near"),
        quality=((), ("dark", "odd shape"), ()),
    )


def test_a_table_is_cut_like_a_list() -> None:
    table = small()
    assert_same(table[1:], table.take([1, 2]))
    assert_same(table[::-1], table.take([2, 1, 0]))
    assert len(table[:0]) == 0 and isinstance(table[:2], AuditTable)
    assert table[1] == table[-2] and table[1]["id"] == "b" and table[1]["quality"] == ("dark", "odd shape")
    assert list(table[0]) == [field.name for field in fields(AuditTable)]
    assert [row["id"] for row in table] == ["a", "b", "c"]
    with pytest.raises(IndexError):
        table[3]


WRITERS = pytest.mark.parametrize(("write", "name"), [(write_csv, "t.csv"), (write_parquet, "t.parquet")])


@WRITERS
def test_round_trip(tmp_path: Path, write: Any, name: str) -> None:
    write(tmp_path / name, small())
    assert_same(read_audit(tmp_path / name), small())
    assert [path.name for path in tmp_path.iterdir()] == [name]


@WRITERS
def test_empty_table_and_columns_without_values(tmp_path: Path, write: Any, name: str) -> None:
    for table in (table_of(()), table_of(("x",))):
        write(tmp_path / name, table)
        assert_same(read_audit(tmp_path / name), table)


@WRITERS
def test_hostile_text_survives(tmp_path: Path, write: Any, name: str) -> None:
    table = table_of(HOSTILE, path=HOSTILE, label=HOSTILE, reason=HOSTILE, neighbours=(HOSTILE,) * len(HOSTILE))
    write(tmp_path / name, table)
    assert_same(read_audit(tmp_path / name), table)


@WRITERS
def test_file_names_that_are_not_utf8_are_written_readably(tmp_path: Path, write: Any, name: str) -> None:
    odd = b"caf\xe9.png".decode("utf-8", "surrogateescape")
    write(tmp_path / name, table_of((odd,), path=(odd,), neighbours=((odd,),)))
    again = read_audit(tmp_path / name)
    assert again.path == again.id == ("caf\\udce9.png",)
    assert again.neighbours == (("caf\\udce9.png",),)


def test_no_cell_of_text_is_a_formula(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", table_of(HOSTILE, label=HOSTILE, neighbours=tuple((text,) for text in HOSTILE)))
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert not any(row[name].startswith(("=", "+", "-", "@", "\t", "\r")) for name in (*TEXTS, "neighbours"))


def test_negative_numbers_stay_numbers(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", small())
    assert ",-0.25," in (tmp_path / "t.csv").read_text(encoding="utf-8")


def test_a_table_that_a_spreadsheet_saved(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    text = "id;label;verdict;suggested_label;confidence;note\r\na;cat;clean;cat;0,95;mine\r\n\r\nb;dog;foreign;;\r\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    table = read_csv(path)
    assert table.id == ("a", "b")
    assert table.confidence[0] == 0.95 and math.isnan(table.confidence[1])
    assert table.path == ("", "") and table.neighbours == ((), ())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no column id"),
        (b"path,label\nx,y\n", "no column id, verdict"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "is not UTF-8 text"),
        (b"id,label,verdict,suggested_label,confidence\na,b,clean,b,high\n", "'high' is not a number"),
        (b"id,label,verdict,suggested_label,confidence\na,b,tidy,b,1\n", "'tidy' is not a verdict"),
        (b'id,label,verdict,suggested_label,confidence\n"' + b"x" * 200_000 + b'",b,clean,b,1\n', "cannot be read"),
    ],
)
def test_wrong_csv_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_csv(tmp_path / "t.csv")


def test_wrong_parquet_files(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "no.parquet").write_bytes(b"id,label\n")
    with pytest.raises(DataError, match="cannot be read"):
        read_parquet(tmp_path / "no.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a"]}), tmp_path / "few.parquet")
    with pytest.raises(DataError, match="no column path"):
        read_parquet(tmp_path / "few.parquet")
    columns = {field.name: ["x"] for field in fields(AuditTable)}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "types.parquet")
    with pytest.raises(DataError, match="wrong type"):
        read_parquet(tmp_path / "types.parquet")
    write_parquet(tmp_path / "verdict.parquet", replace(table_of(("a",)), verdict=("tidy",)))
    with pytest.raises(DataError, match="not a verdict"):
        read_parquet(tmp_path / "verdict.parquet")


@pytest.mark.parametrize(
    ("name", "told"), [("missing.csv", "no file"), ("missing.parquet", "cannot be read"), (".", "holds no audit")]
)
def test_missing_files(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_audit(tmp_path / name)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        table_of(("a", "b"), label=("cat",))


def test_rows_and_take() -> None:
    table = small()
    assert len(table) == 3
    assert [row["id"] for row in table.rows()] == ["a", "b", "c"]
    assert table.take([2, 0]).neighbours == ((), ("b", "c"))
    assert len(table.take([])) == 0


def test_tables_of_older_versions_lack_columns(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("id,label,verdict,suggested_label,confidence\na,cat,clean,cat,0.9\n")
    old = read_csv(tmp_path / "old.csv")
    assert old.copy == ("",) and old.quality == ((),) and old.neighbours == ((),)
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet(tmp_path / "new.parquet", small())
    parquet.write_table(
        parquet.read_table(tmp_path / "new.parquet").drop_columns(["copy", "quality"]), tmp_path / "old.parquet"
    )
    assert read_parquet(tmp_path / "old.parquet").quality == ((),) * 3


def test_a_large_table_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(module, "PART_ROWS", 2)
    table = small()
    write_parts(tmp_path / "parts", table)
    names = ["part-00001-of-00002.parquet", "part-00002-of-00002.parquet"]
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == names
    again = read_audit(tmp_path / "parts")
    assert again.id == table.id and again.neighbours == table.neighbours and again.label == table.label
    write_parts(tmp_path / "parts", table.between(0, 1))
    assert read_audit(tmp_path / "parts").id == ("a",)
    write_parts(tmp_path / "parts", table)
    (tmp_path / "parts" / names[0]).unlink()
    with pytest.raises(DataError, match="holds 1 of 2 parts"):
        read_audit(tmp_path / "parts")


def test_a_table_shows_a_few_rows_of_itself() -> None:
    told = repr(small()).splitlines()
    assert told[0].startswith("AuditTable of 3 rows; .to_pandas() gives a data frame")
    assert [line.strip() for line in told[1:]] == [
        "a: cat, clean, 99 %",
        "b: dog -> cat, mislabelled, 50 %",
        "c: (no label), duplicate conflict",
    ]
    many = repr(table_of(tuple(f"{number}\x1b[2J" for number in range(500))))
    assert many.splitlines()[-1].strip() == "... and 492 more rows" and len(many) < 600 and "\x1b" not in many


def test_a_table_becomes_a_data_frame() -> None:
    pytest.importorskip("pandas")
    frame = small().to_pandas()
    assert list(frame.columns) == [field.name for field in fields(AuditTable)]
    assert list(frame["verdict"]) == list(small().verdict)


def test_columns_of_later_versions_may_be_missing(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", small())
    rows = [line.rsplit(",", 2)[0] for line in (tmp_path / "t.csv").read_text().splitlines()]
    assert rows[0].endswith("decided")
    (tmp_path / "t.csv").write_text("\n".join(rows))
    found = read_audit(tmp_path / "t.csv")
    assert found.copy_group == ("",) * 3 and all(map(math.isnan, found.wrong_if_known))
