"""A person's decisions, as the page writes them and as people spoil them."""

from pathlib import Path

import pytest

from lond.audit.correct.decisions import Choice, ReviewDecision, check_labels, read_decisions, read_not_copies
from lond.errors import DataError

HEADER = "id,path,label,verdict,suggested_label,confidence,decision,new_label\n"


def read(folder: Path, rows: str, header: str = HEADER) -> dict[str, ReviewDecision]:
    path = folder / "decisions.csv"
    path.write_text(header + rows, encoding="utf-8", newline="")
    return read_decisions(path)


def test_all_decisions(tmp_path: Path) -> None:
    rows = (
        "a,a.png,cat,mislabelled,dog,0.9,accept,\nb,b.png,cat,foreign,,,reject,\nc,c.png,cat,clean,cat,1,relabel,dog\n"
        "d,d.png,cat,duplicate conflict,,,foreign,\ne,e.png,cat,clean,cat,1,,\n"
    )
    assert read(tmp_path, rows) == {
        "a": ReviewDecision(Choice.ACCEPT, "", "mislabelled", "dog"),
        "b": ReviewDecision(Choice.NOT_SURE, "", "foreign"),
        "c": ReviewDecision(Choice.RELABEL, "dog", "clean", "cat"),
        "d": ReviewDecision(Choice.FOREIGN, "", "duplicate conflict"),
    }


def test_apostrophes_of_the_page_are_undone(tmp_path: Path) -> None:
    rows = "'=a,'=a.png,'-cat,mislabelled,'+dog,0.9,accept,\n'@b,,,,,,relabel,'=new\n'quoted',,,,,,reject,\n"
    assert read(tmp_path, rows) == {
        "=a": ReviewDecision(Choice.ACCEPT, "", "mislabelled", "+dog"),
        "@b": ReviewDecision(Choice.RELABEL, "=new"),
        "'quoted'": ReviewDecision(Choice.NOT_SURE),
    }


def test_a_file_that_a_spreadsheet_saved(tmp_path: Path) -> None:
    assert read(tmp_path, "a;Reject \r\nb;\r\n", "\ufeffid;decision\r\n") == {"a": ReviewDecision(Choice.NOT_SURE)}


@pytest.mark.parametrize("word", ["reject", "not sure", "Not sure ", "not-sure", "unsure"])
def test_the_words_of_the_page_are_read_as_well(tmp_path: Path, word: str) -> None:
    assert read(tmp_path, f"a,,,,,,{word},\n") == {"a": ReviewDecision(Choice.NOT_SURE)}


def test_the_same_row_twice_is_fine(tmp_path: Path) -> None:
    row = "a,a.png,cat,mislabelled,dog,0.9,accept,\n"
    assert len(read(tmp_path, row + row)) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,,,,,,accept,\na,,,,,,reject,\n", r"row 2 \('a'\): the same image is decided twice"),
        ("a,,,,,,maybe,\n", "'maybe' is not a decision; it must be accept, not sure, relabel"),
        ("a,,,,,,relabel, \n", "needs a new_label"),
        ("a,,,odd,,,accept,\n", "'odd' is not a verdict"),
    ],
)
def test_contradictions(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, rows)


def test_a_label_that_is_no_class_is_named_with_its_row(tmp_path: Path) -> None:
    rows = "a,keep,\nb,relabel,dgo\nc,relabel,cta\nd,relabel,cat\n"
    decisions = read(tmp_path, rows, "id,decision,new_label\n")
    told = r"decisions.csv, row 2 \('b'\): 'dgo' is not a class of the audited set \(1 more decision of this kind\); do"
    with pytest.raises(DataError, match=told):
        check_labels(decisions, ("cat", "dog"), "do this")
    check_labels(decisions, ("cat", "cta", "dgo"), "do this")


def test_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a file of decisions.*no column decision"):
        read(tmp_path, "a,b\n", "id,label\n")
    with pytest.raises(DataError, match="there is no file .*missing.csv; give a file of decisions"):
        read_decisions(tmp_path / "missing.csv")


def test_images_that_are_not_the_same(tmp_path: Path) -> None:
    rows = "a,a.png,cat,clean,cat,1,keep,cat,Yes\n'=b,b.png,cat,clean,cat,1,,cat,yes\nc,c.png,cat,clean,cat,1,,cat,\n"
    decided = read(tmp_path, rows, HEADER.rstrip() + ",not_a_copy\n")
    assert decided == {"a": ReviewDecision(Choice.KEEP, "cat", "clean", "cat")}
    assert read_not_copies(tmp_path / "decisions.csv") == {"a", "=b"}
    read(tmp_path, "a,a.png,cat,clean,cat,1,keep,cat\n")
    assert read_not_copies(tmp_path / "decisions.csv") == frozenset()


@pytest.mark.parametrize("cut", ["b,b.png,cat", "b", "b,b.png,cat,clean,cat,1,keep"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_row_that_is_cut_off_is_named(tmp_path: Path, cut: str, end: str) -> None:
    rows = f"a,a.png,cat,clean,cat,1,keep,cat\n{cut}{end}"
    with pytest.raises(DataError, match=rf"row 2 \('b'\): it has {cut.count(',') + 1} of 8 cells, .* cut off"):
        read(tmp_path, rows)
    with pytest.raises(DataError, match="cut off"):
        read_not_copies(tmp_path / "decisions.csv")
