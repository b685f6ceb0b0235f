from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lond.errors import DataError
from lond.io.csv_files import (
    SEPARATOR,
    csv_text,
    join_texts,
    neutralise,
    read_rows,
    split_texts,
    undo_neutralise,
    write_rows,
)

HOSTILE = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "'=1", "''-1", "'tis", 'a,"b"\nc', "", "ü", "\u202e")


@given(st.lists(st.text(min_size=1)))
def test_joined_texts_come_apart_again(texts: list[str]) -> None:
    assert split_texts(join_texts(texts)) == tuple(texts)


@given(st.text(alphabet="'=+-@\t\rab"))
def test_neutralising_can_be_undone(text: str) -> None:
    assert undo_neutralise(neutralise(text)) == text


def test_cells_written_by_hand() -> None:
    assert split_texts("") == ()
    assert split_texts(f"a{SEPARATOR}{SEPARATOR}b{SEPARATOR}") == ("a", "b")
    assert split_texts("C:\\x|b") == ("C:\\x", "b")
    assert split_texts("a|b\\") == ("a", "b\\")
    assert undo_neutralise("'tis") == "'tis"


def test_text_is_safe_in_the_file_and_the_same_when_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_rows(path, ("text", "number"), [(text, "-0.5") for text in HOSTILE], as_is=("number",))
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert not any(row["text"].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
    assert {row["number"] for row in rows} == {"-0.5"}
    assert tuple(row["text"] for row in read_rows(path, ["text"], "a table")) == HOSTILE


def test_values_that_are_no_text(tmp_path: Path) -> None:
    odd = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert csv_text(("a", "b", "c"), [(None, -1.5, 3), (True, odd, "x,y")]) == 'a,b,c\n,-1.5,3\nTrue,caf\\udce9,"x,y"\n'
    write_rows(tmp_path / "t.csv", ("a",), [])
    assert (tmp_path / "t.csv").read_bytes() == b"a\r\n"
    with pytest.raises(ValueError, match="zip"):
        csv_text(("a", "b"), [(1,)])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_a_spreadsheet_saved_is_read(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(delimiter.join(["\ufeffid", "note"]) + "\r\na\r\n", encoding="utf-8")
    assert list(read_rows(path, ["id"], "a table")) == [{"id": "a", "note": ""}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\r\n1,2\r\n", "has no column id"),
        (b"id\n\xff\n", "t.csv is not UTF-8 text; give a table of mine, saved as CSV in UTF-8"),
        (b'id\n1\n"2\n3\n', "cannot be read as a table .*quotation mark"),
        (b"", "id"),
    ],
)
def test_what_is_no_such_table_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        list(read_rows(path, ["id"], "a table of mine"))
    with pytest.raises(DataError, match="there is no file .*gone.csv; give a table of mine"):
        list(read_rows(tmp_path / "gone.csv", ["id"], "a table of mine"))
    with pytest.raises(DataError, match=r"cannot be read as a table \(Is a directory\)"):
        list(read_rows(tmp_path, ["id"], "a table of mine"))


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,verdict,verdict\n1,clean,foreign\n")
    with pytest.raises(DataError, match="more than one column called verdict; keep one of each"):
        list(read_rows(tmp_path / "t.csv", ["id"], "a table"))


def test_a_short_row_is_refused_where_rows_must_be_complete(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,note,size\n'=a,,\n\nb,x\n", encoding="utf-8")
    assert [row["id"] for row in read_rows(path, ["id"], "a table")] == ["=a", "b"]
    with pytest.raises(DataError, match=r"t\.csv, row 2 \('b'\): it has 2 of 3 cells, .* download it again"):
        list(read_rows(path, ["id"], "a table", complete=True))
