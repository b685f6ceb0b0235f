"""What the page tells about the files of copies."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from audit.page.page_samples import make_table
from PIL import Image

from lond.audit.page.copy_files import facts_of_copies, facts_of_file, rows_of_copies


def test_originals_and_copies_are_looked_at_and_others_are_not(tmp_path: Path) -> None:
    names = ("a.png", "b.jpg", "c.png", "d.png")
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    Image.new("RGB", (80, 60)).save(tmp_path / "b.jpg")
    Image.new("RGB", (80, 60)).save(tmp_path / "c.png")
    (tmp_path / "d.png").write_text("no image")
    table = replace(make_table(4), id=names, path=names, duplicate_of=("", "a.png", "", "a.png"))
    assert rows_of_copies(table) == [0, 1, 3]
    found = facts_of_copies(table, tmp_path)
    assert found[1] == (80, 60, (tmp_path / "b.jpg").stat().st_size, "JPEG")
    assert sorted(found) == [0, 1] and found[0][3] == "PNG"
    assert facts_of_copies(table, None) == {}


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    assert facts_of_file(tmp_path / "absent.png") is None and facts_of_file(tmp_path) is None
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes on this system")
    os.mkfifo(tmp_path / "pipe.png")
    assert facts_of_file(tmp_path / "pipe.png") is None
