"""Where a corrected set may be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from lond.audit.correct.place import CLASSES, check_place_of, check_tree_place, is_corrected
from lond.errors import DataError

HEAD = "id,path,label,given_label,action,reason\n"


def test_new_places_are_free(tmp_path: Path) -> None:
    for place in (tmp_path / "new", tmp_path / "new.csv", tmp_path):
        check_place_of(place)
        check_place_of(place, overwrite=True)


def test_only_an_earlier_corrected_set_is_replaced(tmp_path: Path) -> None:
    tree, table = tmp_path / "tree", tmp_path / "table.csv"
    tree.mkdir()
    (tree / CLASSES).write_text("class,folder\n")
    table.write_text(HEAD)
    for place in (tree, table):
        with pytest.raises(DataError, match="replace it with --overwrite"):
            check_place_of(place)
        check_place_of(place, overwrite=True)


def test_anything_else_is_left_alone(tmp_path: Path) -> None:
    tree, table = tmp_path / "photos", tmp_path / "labels.csv"
    tree.mkdir()
    (tree / "cat.jpg").write_text("")
    table.write_text("path,label\n")
    for overwrite in (False, True):
        with pytest.raises(DataError, match="is not empty, and no corrected set"):
            check_tree_place(tree, overwrite=overwrite)
        with pytest.raises(DataError, match="it may be the original"):
            check_place_of(table, overwrite=overwrite)
        with pytest.raises(DataError, match="is a file; choose a new folder"):
            check_tree_place(table, overwrite=overwrite)


def test_a_corrected_table_is_known_by_its_head(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeff" + HEAD, encoding="utf-8")
    (tmp_path / "b.csv").write_bytes(b"\xff\x00")
    assert is_corrected(tmp_path / "a.csv")
    assert not any(is_corrected(tmp_path / name) for name in ("b.csv", "missing.csv", "."))
