"""Where the files of an audited set lie."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lond.audit.places import address_of_pictures, folder_of_source, paths_of
from lond.data.sources import load


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for name in ("a/1.png", "a/2.png", "b/3.png", "b/4.png"):
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "photos" / name)
    return tmp_path / "photos"


def write_table(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "path", "label"), *rows])
    return path


def test_the_folder_of_a_source(photos: Path) -> None:
    table = write_table(photos / "set.csv", [])
    assert folder_of_source(str(photos)) == folder_of_source(str(table)) == photos
    for other in (None, "", "list of files", str(photos / "gone.csv"), str(photos / "a" / "1.png")):
        assert folder_of_source(other) is None


def test_ids_of_a_table_hide_no_paths(photos: Path) -> None:
    samples = load(write_table(photos / "set.csv", [("x", "a/1.png", "cat"), ("y", "b/3.png", "dog")]))
    assert samples.ids == ("x", "y") and paths_of(samples) == ("a/1.png", "b/3.png")
    rows = [("x", "../photos/a/1.png", "cat"), ("y", "../photos/b/3.png", "dog")]
    elsewhere = load(write_table(photos.parent / "tables" / "set.csv", rows))
    assert paths_of(elsewhere) == (f"{photos}/a/1.png", f"{photos}/b/3.png")


def test_other_sources(photos: Path) -> None:
    assert paths_of(load(photos)) == load(photos).ids == ("a/1.png", "a/2.png", "b/3.png", "b/4.png")
    files = [str(photos / "a" / "1.png"), str(photos / "b" / "3.png"), str(photos / "b" / "3.png")]
    assert paths_of(load((files, ["cat", "dog", "cat"]))) == tuple(files)
    assert paths_of(load((np.zeros((2, 8, 8, 3), dtype=np.uint8), ["cat", "dog"]))) == ("0", "1")


def test_the_address_of_pictures_is_that_of_a_folder_that_holds_them(tmp_path: Path) -> None:
    (tmp_path / "my photos").mkdir()
    (tmp_path / "my photos" / "a.png").touch()
    source = str(tmp_path / "my photos")
    assert address_of_pictures(source, ("gone.png", "a.png")) == f"{tmp_path.as_uri()}/my%20photos"
    assert address_of_pictures(source, ("gone.png", "")) == address_of_pictures(None, ("a.png",)) == ""
