"""What a person does with an audit: count, choose, convert, save and load."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from audit.page.page_samples import make_thumbnail
from audit.result_samples import NASTY, make_audit, nasty_audit, one_image

import lond.audit
from lond.audit import Audit
from lond.errors import DataError, MissingDependencyError


@pytest.fixture(scope="module")
def found() -> Audit:
    return make_audit()


def test_all_public_names_are_there_and_importing_is_cheap() -> None:
    pytest.importorskip("matplotlib")
    for name in lond.audit.__all__:
        assert getattr(lond.audit, name) is not None
    assert set(dir(lond.audit)) == set(lond.audit.__all__)
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = lond.audit.magic
    code = "import sys, lond.audit; print(sorted({'torch', 'numpy', 'PIL', 'matplotlib'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_it_becomes_a_data_frame(found: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert len(frame) == 300
    assert list(frame["verdict"]) == list(found.table.verdict)
    assert frame["confidence"].dtype == np.float64
    assert frame["neighbours"][0] == found.table.neighbours[0]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        found.to_pandas()


def test_a_saved_audit_is_loaded_with_map_and_pictures(found: Audit, tmp_path: Path) -> None:
    found.save(str(tmp_path / "out"))
    again = Audit.load(tmp_path / "out")
    assert again.title == found.title
    assert again.class_names == found.class_names
    assert again.counts == found.counts
    assert again.summary["threshold"] == found.summary["threshold"]
    assert np.allclose(again.table.confidence, found.table.confidence, atol=1e-5, equal_nan=True)
    # The page keeps the map up to its place and size.
    old, new = (np.asarray(points) - np.mean(points, axis=0) for points in (found.positions, again.positions))
    assert np.allclose(old / old.std(), new / new.std(), atol=1e-4)
    for place in (*found.places("mislabelled")[:3], len(found) - 1):
        picture = again.picture(place)
        original = found.picture(place)
        assert picture.size == original.size
        assert np.abs(np.asarray(picture, dtype=float) - np.asarray(original, dtype=float)).mean() < 12
    assert again.picture(found.places("unreadable")[0]) is None


def test_rows_taken_out_of_a_saved_table_do_not_mix_up_the_others(found: Audit, tmp_path: Path) -> None:
    found.save(tmp_path)
    before = Audit.load(tmp_path)
    lines = (tmp_path / "audit.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    strange = lines[-1].replace(found.table.id[-1], "new.png", 1)
    (tmp_path / "audit.csv").write_text("".join([lines[0], *lines[11:], strange]), encoding="utf-8")
    again = Audit.load(tmp_path)
    assert len(again) == 291
    for place in (0, 7, 289):
        assert again.table.id[place] == before.table.id[place + 10]
        assert again.picture(place) == before.picture(place + 10)
        assert again.positions[place] == before.positions[place + 10]
    assert math.isnan(again.positions[-1][0])
    assert again.picture(290) is None


@pytest.mark.parametrize("page", [None, "<html>", '<script type="application/json" id="data">{"title": 1}</script>'])
def test_without_its_page_pictures_come_from_their_files(page: str | None, found: Audit, tmp_path: Path) -> None:
    found.save(tmp_path / "out")
    (tmp_path / "out" / "audit.html").unlink()
    if page is not None:
        (tmp_path / "out" / "audit.html").write_text(page)
    file = tmp_path / "images" / found.table.path[5]
    file.parent.mkdir(parents=True)
    make_thumbnail(5, 200).save(file)
    again = Audit.load(tmp_path / "out", root=tmp_path / "images")
    assert again.title == "Audit in out"
    assert again.positions is None
    assert again.class_names == found.class_names
    assert max(again.picture(5).size) == 192
    assert again.picture(6) is None


def test_names_that_no_encoding_knows_can_be_saved(tmp_path: Path) -> None:
    found = nasty_audit()
    found.save(tmp_path)
    again = Audit.load(tmp_path)
    assert len(again) == len(found)
    assert again.picture(NASTY.index("lone\udc80")) is not None


def test_a_folder_without_an_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        Audit.load(tmp_path)
    one_image().save(tmp_path)
    assert Audit.load(tmp_path).class_names == ("cat",)
    for text in ("[1]", "{"):
        (tmp_path / "summary.json").write_text(text)
        with pytest.raises(DataError, match="give the folder that an audit was saved in"):
            Audit.load(tmp_path)
