"""CSV and Parquet tables."""

import csv
import importlib
from pathlib import Path

import pytest
from PIL import Image

from lond.data.options import ReadOptions
from lond.data.read.files import load_into_memory
from lond.data.read.tables import read_table
from lond.data.sources import has_split, load
from lond.errors import DataError, MissingDependencyError
from lond.types import FOREIGN, UNLABELLED

IN_PROCESS = ReadOptions(num_workers=0)
Rows = list[dict[str, object]]


def _images(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), "red").save(folder / name)


def _write(path: Path, rows: Rows) -> Path:
    if path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(rows), path)
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_paths_labels_truth_ids_and_problems(tmp_path: Path, suffix: str) -> None:
    _images(tmp_path, "a.png", "sub/b.png", "c.png")
    rows: Rows = [
        {"path": "a.png", "label": "dog", "true_label": "zebra", "id": "first"},
        {"path": "sub/b.png", "label": "cat", "true_label": "cat", "id": None},
        {"path": "absent.png", "label": "cow", "true_label": None, "id": None},
        {"path": "c.png", "label": None, "true_label": None, "id": None},
        {"path": None, "label": "cat", "true_label": None, "id": None},
    ]
    samples = read_table(_write(tmp_path / f"t{suffix}", rows), options=IN_PROCESS)
    assert samples.ids == ("first", "sub/b.png", "c.png")
    assert samples.class_names == ("cat", "dog")
    assert samples.labels.tolist() == [1, 0, UNLABELLED]
    assert samples.true_labels is not None and samples.true_labels.tolist() == [FOREIGN, 0, UNLABELLED]
    assert [problem.id for problem in samples.problems] == ["absent.png", "row 4"]
    assert load_into_memory(samples.pixels).images.shape == (3, 3, 8, 8)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numeric_labels_sort_by_value(tmp_path: Path, suffix: str) -> None:
    _images(tmp_path, "a.png", "b.png", "c.png")
    rows: Rows = [{"path": "a.png", "label": 10.0}, {"path": "b.png", "label": 9.0}, {"path": "c.png", "label": None}]
    samples = read_table(_write(tmp_path / f"t{suffix}", rows), options=IN_PROCESS)
    assert samples.class_names == ("9", "10")
    assert samples.labels.tolist() == [1, 0, UNLABELLED]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_splits(tmp_path: Path, suffix: str) -> None:
    _images(tmp_path, "a.png", "b.png", "c.png")
    rows: Rows = [
        {"path": "a.png", "label": "x", "split": "Train"},
        {"path": "b.png", "label": "y", "split": "train"},
        {"path": "c.png", "label": "z", "split": "val"},
    ]
    path = _write(tmp_path / f"t{suffix}", rows)
    assert has_split(path, "train") and has_split(path, "test")
    train = load(path, options=IN_PROCESS)
    assert train.class_names == ("x", "y")
    assert load(path, "test", class_names=train.class_names, options=IN_PROCESS).labels.tolist() == [FOREIGN]


def test_without_a_split_column_all_rows_serve_any_split(tmp_path: Path) -> None:
    _images(tmp_path, "a.png")
    path = _write(tmp_path / "t.csv", [{"path": "a.png", "label": "x"}])
    assert has_split(path, "train") and not has_split(path, "test")
    assert len(read_table(path, "test", IN_PROCESS)) == 1


def test_missing_column_lists_those_found(tmp_path: Path) -> None:
    _images(tmp_path, "a.png")
    path = _write(tmp_path / "t.csv", [{"file": "a.png", "class": "x"}])
    with pytest.raises(DataError, match="no column 'path'; it has 'file', 'class'"):
        read_table(path)
    with pytest.raises(DataError, match="no column 'label'"):
        read_table(path, options=ReadOptions(path_column="file"))
    named = ReadOptions(num_workers=0, path_column="file", label_column="class")
    assert read_table(path, options=named).class_names == ("x",)


def test_labels_may_be_absent_when_classes_are_known(tmp_path: Path) -> None:
    _images(tmp_path, "a.png")
    path = _write(tmp_path / "t.csv", [{"path": "a.png"}])
    for names in (("cat", "dog"), ("0", "1")):
        assert load(path, "test", class_names=names, options=IN_PROCESS).labels.tolist() == [UNLABELLED]


def test_root_absolute_paths_and_backslashes(tmp_path: Path) -> None:
    _images(tmp_path / "elsewhere", "sub/a.png", "b.png")
    absolute = str(tmp_path / "elsewhere" / "b.png")
    rows: Rows = [{"path": "sub\\a.png", "label": "x"}, {"path": absolute, "label": "y"}]
    path = _write(tmp_path / "t.csv", rows)
    samples = read_table(path, options=ReadOptions(num_workers=0, root=tmp_path / "elsewhere"))
    assert samples.ids == ("sub/a.png", "b.png")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_byte_order_mark_delimiters_and_line_ends(tmp_path: Path, delimiter: str) -> None:
    _images(tmp_path, "a.png", 'ü, "x".png')
    lines = [("path", "label"), ("a.png", "käse"), ('"ü, ""x"".png"', "b")]
    text = "\r\n".join(delimiter.join(line) for line in lines) + "\r\n\r\n"
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    samples = read_table(tmp_path / "t.csv", options=IN_PROCESS)
    assert samples.ids == ("a.png", 'ü, "x".png')
    assert samples.class_names == ("b", "käse")


def test_files_elsewhere_are_called_as_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _images(tmp_path, "photos/a.png", "photos/b.png")
    (tmp_path / "tables").mkdir()
    rows: Rows = [{"path": f"../photos/{name}.png", "label": name} for name in "ab"]
    _write(tmp_path / "tables" / "t.csv", rows)
    monkeypatch.chdir(tmp_path)
    for table in (Path("tables/t.csv"), tmp_path / "tables" / "t.csv"):
        assert read_table(table, options=IN_PROCESS).ids == ("../photos/a.png", "../photos/b.png")


def test_repeated_rows_get_ids_of_their_own(tmp_path: Path) -> None:
    _images(tmp_path, "a.png")
    path = _write(tmp_path / "t.csv", [{"path": "a.png", "label": "x"}, {"path": "a.png", "label": "y"}])
    assert read_table(path, options=IN_PROCESS).ids == ("a.png", "a.png#1")


def test_hostile_paths_are_problems(tmp_path: Path) -> None:
    _images(tmp_path, "a.png")
    rows: Rows = [{"path": name, "label": "x"} for name in ("a.png", "n" * 5000, "..", "/dev/null", "=cmd()")]
    samples = read_table(_write(tmp_path / "t.csv", rows), options=IN_PROCESS)
    assert samples.ids == ("a.png",) and len(samples.problems) == 4


def test_verify_leaves_out_broken_files(tmp_path: Path) -> None:
    _images(tmp_path, "a.png")
    (tmp_path / "b.png").write_bytes(b"broken")
    path = _write(tmp_path / "t.csv", [{"path": "a.png", "label": "x"}, {"path": "b.png", "label": "y"}])
    samples = read_table(path, options=ReadOptions(num_workers=0, verify=True))
    assert samples.ids == ("a.png",) and samples.problems[0].id == "b.png"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"path,label\n", "no rows"),
        (b"path,label\nabsent.png,x\n", "none of its image files"),
        (b"path,label\n\xff\xfe,x\n", "UTF-8"),
        (b"path,label,split\na.png,x,extra\n", "no rows whose split is 'train'"),
        (b'path,label\n"' + b"x" * 200_000 + b'",y\n', "not a readable table"),
    ],
)
def test_useless_tables(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.csv")


def test_missing_and_broken_parquet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "t.parquet").write_bytes(b"nonsense")
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match="not a readable Parquet"):
        read_table(tmp_path / "t.parquet")


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> object:
        raise ImportError(name)

    (tmp_path / "t.parquet").write_bytes(b"x")
    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[tables\]'"):
        read_table(tmp_path / "t.parquet")


def test_training_rows_may_not_be_foreign(tmp_path: Path) -> None:
    _images(tmp_path, "a.png", "b.png")
    path = _write(tmp_path / "t.csv", [{"path": "a.png", "label": 0}, {"path": "b.png", "label": -1}])
    with pytest.raises(DataError, match="test data only"):
        read_table(path, options=IN_PROCESS)
    assert read_table(path, "test", IN_PROCESS).labels.tolist() == [0, FOREIGN]


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("path,label,label\na.png,0,1\n")
    with pytest.raises(DataError, match="more than one column called 'label'; keep one of each"):
        read_table(tmp_path / "t.csv", options=IN_PROCESS)
    # Blank columns come from spreadsheets, and mean nothing.
    _images(tmp_path, "a.png", "b.png")
    (tmp_path / "t.csv").write_text("path,label,,\na.png,0,,\nb.png,1,,\n")
    assert len(read_table(tmp_path / "t.csv", options=IN_PROCESS)) == 2
