"""Audits of folders that hold damaged, odd and gigantic files under awkward names."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audit import awkward_folder as awkward
from audit.audit_samples import PoolFeatures, write_folder

from lond.audit.result import Audit
from lond.audit.run import audit
from lond.audit.settings import AuditSettings
from lond.audit.table import read_audit
from lond.data.options import ReadOptions
from lond.data.read import files
from lond.data.sources import load
from lond.errors import DataError
from lond.frozen import read as features
from lond.frozen.extractor import ExtractorSettings
from lond.train.runtime import RuntimeSettings

Call = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.filterwarnings("ignore:epoch")  # two epochs may end before any sample is judged clean

SETTINGS = AuditSettings(ExtractorSettings(size=awkward.SIDE), epochs=3, folds=2, map="pca", neighbours=2)
OPTIONS = ("--size", 16, "--epochs", 3, "--folds", 2, "--map", "none", "--threads", 1, "--accelerator", "cpu")


def run(source: Path, **options: object) -> Audit:
    runtime = RuntimeSettings("cpu", threads=1)
    return audit(source, settings=SETTINGS, runtime=runtime, read=ReadOptions(num_workers=0), **options)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "Extractor", PoolFeatures)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("awkward")
    awkward.write_awkward_folder(root)
    return root


@pytest.fixture(scope="module")
def found(folder: Path) -> Audit:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "Extractor", PoolFeatures)
        return run(folder)


@pytest.fixture(scope="module")
def saved(found: Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved")
    found.save(place)
    return place


@pytest.fixture(scope="module")
def squares(folder: Path) -> dict[str, np.ndarray]:
    """Return id -> (16, 16, 3) pixels of every image, as the audit reads them."""
    samples = load(folder, size=awkward.SIDE, options=ReadOptions(num_workers=0))
    pixels = files.load_into_memory(samples.pixels).images.permute(0, 2, 3, 1).numpy()
    return dict(zip(samples.ids, pixels, strict=True))


def test_every_file_has_a_verdict_or_a_reason(found: Audit) -> None:
    reasons = dict(zip(found.table.id, found.table.reason, strict=True))
    verdicts = dict(zip(found.table.id, found.table.verdict, strict=True))
    assert {name for name, verdict in verdicts.items() if verdict == "unreadable"} == set(awkward.UNREADABLE)
    listed = {problem["id"]: problem["reason"] for problem in found.summary["problems"]}
    assert set(listed) == {*awkward.UNREADABLE, *awkward.LEFT_OUT}
    for name, part in awkward.UNREADABLE.items():
        assert part in reasons[name]
        assert listed[name] == reasons[name]
    for name, part in awkward.LEFT_OUT.items():
        assert part in listed[name]
        assert name not in verdicts
    assert not any(reasons[name] for name in verdicts.keys() - awkward.UNREADABLE.keys())


def test_good_images_are_judged_whatever_they_are_called(found: Audit) -> None:
    verdicts = dict(zip(found.table.id, found.table.verdict, strict=True))
    for name in (
        *awkward.NAMES,
        "really_png.jpg",
        "moving.gif",
        "cmyk.jpg",
        "deep_colour.png",
        "folder.jpg/inside.png",
    ):
        assert verdicts[f"red/{name}"] == "clean"
    assert not set(awkward.HIDDEN) & set(verdicts)
    assert found.summary["images"] == 3 * 14 + len(awkward.NAMES) + 9 + len(awkward.UNREADABLE)


def test_an_empty_class_is_noted_and_stays_a_class(found: Audit) -> None:
    assert found.class_names == ("blue", "empty", "green", "red")
    assert "empty" not in found.table.suggested_label
    assert any("'empty'" in note for note in found.summary["notes"])


def test_odd_pictures_are_read_as_they_look(squares: dict[str, np.ndarray]) -> None:
    half = awkward.SIDE // 2
    assert (squares["red/deep.png"][:, :half] == 100).all()
    assert (squares["red/deep.png"][:, half:] == 200).all()
    assert (squares["red/deep_colour.png"] == awkward.RED).all()
    assert (squares["red/palette.png"][:, :half] == 255).all()
    assert (squares["red/palette.png"][:, half:] == awkward.RED).all()
    assert (squares["red/moving.gif"] == awkward.RED).all()
    assert np.abs(squares["red/cmyk.jpg"].astype(int) - awkward.RED).max() < 12
    turned = squares["red/turned.jpg"].astype(int)
    assert np.abs(turned[: half - 2] - awkward.RED).max() < 12
    assert np.abs(turned[half + 2 :] - awkward.BLUE).max() < 12
    large = squares["red/large.png"]
    assert (large[:, : half - 1] == 0).all()
    assert (large[:, half + 1 :] == 255).all()
    assert all((squares[name] == 128).all() for name in awkward.UNREADABLE)


@pytest.mark.parametrize("file", ["audit.csv", "audit.parquet"])
def test_names_survive_in_the_tables(found: Audit, saved: Path, file: str) -> None:
    again = read_audit(saved / file)
    for column in ("id", "path", "label", "verdict", "reason", "neighbours", "duplicate_of"):
        assert getattr(again, column) == getattr(found.table, column)
    assert {f"red/{name}" for name in awkward.NAMES} <= set(again.id)


def test_names_survive_for_any_reader_of_csv_and_json(found: Audit, saved: Path) -> None:
    with (saved / "audit.csv").open(newline="", encoding="utf-8-sig") as file:
        assert tuple(row["id"] for row in csv.DictReader(file)) == found.table.id
    summary = json.loads((saved / "summary.json").read_text(encoding="utf-8"))
    assert summary["problems"] == found.summary["problems"]


def test_names_survive_on_the_page(found: Audit, saved: Path) -> None:
    text = (saved / "audit.html").read_text(encoding="utf-8")
    parts = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    data = json.loads(parts[0])
    assert tuple(data["columns"]["id"]["values"]) == found.table.id
    assert data["summary"]["problems"] == found.summary["problems"]
    assert data["sprites"]["count"] == len(found.table) - len(awkward.UNREADABLE)
    assert "<script><!--" not in text


def test_tables_of_awkward_names_are_found_again(folder: Path, tmp_path: Path) -> None:
    names = [f"red/{name}" for name in awkward.NAMES] + ["green/green_1.png", "red/ends in blank.png "]
    (folder / "red" / "ends in blank.png ").write_bytes((folder / "red" / "red_1.png").read_bytes())
    try:
        with (tmp_path / "table.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("path", "label"), *((name, name.split("/")[0]) for name in names)])
        samples = load(tmp_path / "table.csv", options=ReadOptions(num_workers=0, root=folder))
    finally:
        (folder / "red" / "ends in blank.png ").unlink()
    assert samples.problems == ()
    assert samples.ids == tuple(names)


def test_names_that_are_not_utf8(folder: Path, tmp_path: Path) -> None:
    write_folder(tmp_path, each=2, foreign=0, wrong=0)
    try:
        (tmp_path / "red" / "red_0.png").rename(tmp_path / "red" / "bad\udcff.png")
    except OSError:
        pytest.skip("the file system allows UTF-8 names only")
    ids = load(tmp_path, options=ReadOptions(num_workers=0)).ids
    assert "red/bad\\xff.png" in ids
    lines = "".join(f"{name},{name.split('/')[0]}\n" for name in ids)
    (tmp_path / "table.csv").write_text(f"path,label\n{lines}", encoding="utf-8")
    again = load(tmp_path / "table.csv", options=ReadOptions(num_workers=0))
    assert (again.ids, again.problems) == (ids, ())


def test_the_command_line_names_what_it_skipped(folder: Path, tmp_path: Path, lond: Call) -> None:
    code, out, error = lond("audit", folder, "--out", tmp_path / "audit", *OPTIONS)
    assert code == 0
    assert "Traceback" not in error
    assert all(f"note: unreadable: {name}: " in out for name in awkward.UNREADABLE)
    assert out.count("note: unreadable: ") == len(awkward.UNREADABLE)
    (left_out,) = (line for line in out.splitlines() if "were left out and have no row in the table" in line)
    assert left_out.startswith("note: 6 files or folders were left out")
    assert all(f"{name} (" in left_out for name in awkward.LEFT_OUT)
    summary = json.loads((tmp_path / "audit" / "summary.json").read_text(encoding="utf-8"))
    assert {problem["id"] for problem in summary["problems"]} == {*awkward.UNREADABLE, *awkward.LEFT_OUT}


def _one_class(root: Path) -> Path:
    write_folder(root, each=4, foreign=0, wrong=0)
    for name in ("green", "blue"):
        for path in (root / name).iterdir():
            path.unlink()
        (root / name).rmdir()
    return root


@pytest.mark.parametrize("beside", ["nothing", "an empty folder", "an empty file", "a text file"])
def test_one_class_is_refused_before_any_work(
    tmp_path: Path, beside: str, lond: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = _one_class(tmp_path / "images"), tmp_path / "out"
    if beside != "nothing":
        (root / "green").mkdir()
    if beside == "an empty file":
        (root / "green" / "zero.jpg").touch()
    if beside == "a text file":
        (root / "green" / "notes.txt").write_text("nothing")

    def work(*arguments: object) -> None:
        raise AssertionError("an image was decoded")

    monkeypatch.setattr(files, "read_bytes", work)
    monkeypatch.setattr(features, "Extractor", work)
    with pytest.raises(DataError, match="only one class, 'red'"):
        run(root, cache=out / "features", folder=out / "heads")
    code, _, error = lond("audit", root, "--out", out, *OPTIONS)
    assert code == 2
    assert "only one class, 'red'" in error
    assert not out.exists()


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path, each=10, foreign=0, wrong=0)
    secret = tmp_path / "red" / "red_3.png"
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        # The administrator may read everything, so the refusal is acted.
        _refuse(monkeypatch, secret)
    try:
        found = run(tmp_path)
    finally:
        secret.chmod(0o600)
    (row,) = (row for row in found.table.rows() if row["id"] == "red/red_3.png")
    assert (row["verdict"], row["reason"]) == ("unreadable", "cannot be read (Permission denied)")
    assert found.summary["counts"]["unreadable"] == 1


def _refuse(monkeypatch: pytest.MonkeyPatch, secret: Path) -> None:
    real = io.open

    def opened(file: object, *arguments: object, **options: object) -> object:
        if str(file) == str(secret):
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *arguments, **options)

    monkeypatch.setattr(io, "open", opened)
    monkeypatch.setattr("builtins.open", opened)
