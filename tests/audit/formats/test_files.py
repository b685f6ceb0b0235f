"""Where pictures lie."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from audit.page.page_samples import make_table

from lond.audit.formats.files import picture_files, picture_path
from lond.errors import DataError


def test_paths_are_absolute_and_printable(tmp_path: Path) -> None:
    assert picture_path("a/b.png", tmp_path) == f"{tmp_path.as_posix()}/a/b.png"
    assert picture_path("b.png", None) == f"{Path.cwd().as_posix()}/b.png"
    assert picture_path("odd\udc80.png", tmp_path).endswith("odd\\udc80.png")


def test_files_are_found_by_odd_names_and_missing_ones_named(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"odd\x80.png")).touch()
    except OSError:
        pytest.skip("this file system has UTF-8 names alone")
    table = replace(make_table(2), path=("odd\\x80.png", "gone.png"), verdict=("clean", "unreadable"))
    assert picture_files(table, tmp_path) == [os.fsdecode(os.fsencode(tmp_path) + b"/odd\x80.png"), ""]
    with pytest.raises(DataError, match="1 of 2 images are no files below .*'gone.png'; give the audited folder"):
        picture_files(replace(table, verdict=("clean", "clean")), tmp_path)
