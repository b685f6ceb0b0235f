"""Writing to a store and reading from it."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from results.run_samples import small, write_detectors, write_run

from lond.errors import DataError
from lond.results import DetectorRecord, Machine, Record, read, record_of, scan, write
from lond.results.store import named_as_stored


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return record_of(write_run(tmp_path / "run"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "a" / "store"


def test_what_is_written_is_read(record: Record, store: Path) -> None:
    written = write(store, record)
    assert (written.outcome, written.path) == ("new", store / f"{record.name}.json")
    assert read(store) == [record]
    assert [path.name for path in store.glob("*.json")] == [f"{record.name}.json"]


def test_the_file_is_strict_json_of_few_lines(record: Record, store: Path) -> None:
    detectors = (DetectorRecord("msp", "-", {"auroc": -math.inf}),)
    odd = replace(record, metrics={"accuracy": math.nan, "loss": math.inf}, detectors=detectors)
    text = write(store, odd).path.read_text()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    content = json.loads(text, parse_constant=refuse)
    assert content["metrics"] == {"accuracy": None, "loss": None}
    assert content["detectors"][0]["figures"] == {"auroc": None}
    assert (content["schema"], content["name"]) == (1, record.name)
    assert len(text.splitlines()) == len(content) + 2
    assert read(store)[0].metrics == {"accuracy": None, "loss": None}


def test_the_same_run_again_changes_nothing(record: Record, store: Path) -> None:
    path = write(store, record).path
    before = path.read_bytes(), path.stat().st_mtime_ns
    again = replace(record, finished=None, seconds={"train": 99.0}, versions={"torch": "3"})
    assert write(store, again).outcome == "kept"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_another_result_is_refused_and_what_differs_is_said(record: Record, tmp_path: Path, store: Path) -> None:
    path = write(store, replace(record, machine=Machine(threads=1))).path
    before = path.read_bytes()
    other = replace(record_of(write_run(tmp_path / "b", accuracy=0.6)), machine=Machine(threads=2))
    assert other.identity == record.identity
    with pytest.raises(DataError, match=r"accuracy: 0\.49 -> 0\.59.*machine\.threads: 1 -> 2.*Nothing was written"):
        write(store, other)
    assert path.read_bytes() == before
    assert write(store, other, replace=True).outcome == "replaced"
    assert read(store) == [other]


def test_a_curve_alone_makes_another_result(record: Record, store: Path) -> None:
    write(store, record)
    curve = (0.1, *record.curves["auroc"][1:])
    with pytest.raises(DataError, match="curve auroc"):
        write(store, replace(record, curves={**record.curves, "auroc": curve}))


def test_what_was_not_known_is_added(record: Record, tmp_path: Path, store: Path) -> None:
    write(store, replace(record, preset="", changes={}))
    write_detectors(tmp_path / "run")
    known = replace(record_of(tmp_path / "run"), machine=Machine(threads=2), finished="2026-01-31T12:00:00Z")
    assert write(store, known).outcome == "completed"
    assert read(store) == [known]
    # Nothing is lost by a record that knows less, and detectors add up.
    assert write(store, record).outcome == "kept"
    more = (*known.detectors[:1], DetectorRecord("mds", "all", {"auroc": 0.4}))
    assert write(store, replace(record, detectors=more)).outcome == "completed"
    assert [entry.name for entry in read(store)[0].detectors] == ["msp", "knn", "knn", "mds"]


def test_a_detector_with_other_figures_is_refused(tmp_path: Path, store: Path) -> None:
    folder = write_run(tmp_path / "run", detectors=True)
    write(store, record_of(folder))
    write_detectors(folder, auroc=0.71)
    with pytest.raises(DataError, match=r"msp.auroc: 0.7 -> 0.71"):
        write(store, record_of(folder))


def test_another_word_for_the_same_run_is_refused(record: Record, store: Path) -> None:
    write(store, record)
    with pytest.raises(DataError, match="scale: smoke -> mini"):
        write(store, replace(record, scale="mini"))
    renamed = replace(record, data="small80")
    with pytest.raises(DataError, match="data: mini80 -> small80"):
        write(store, renamed)
    write(store, renamed, replace=True)
    assert [path.stem for path in store.glob("*.json")] == [renamed.name]


def test_files_that_cannot_be_read_are_told_and_left_out(record: Record, store: Path) -> None:
    text = write(store, record).path.read_text()
    content = json.loads(text)
    wrong = {
        "a-cut.json": (text[:200], "damaged"),
        "b-list.json": ("[]", "list in place of an object"),
        "c-other.json": ('{"runs": 3}', "not a record"),
        "d-new.json": (json.dumps(content | {"schema": 2}), "of schema 2; this version of lond reads 1"),
        "e-nan.json": (json.dumps(content | {"metrics": {"accuracy": math.nan}}), "NaN is not JSON"),
        "f-lacks.json": (json.dumps({k: v for k, v in content.items() if k != "method"}), "method is missing"),
        "g-more.json": (json.dumps(content | {"weather": "fine"}), "unknown key 'weather'"),
        "h-type.json": (json.dumps(content | {"epochs": "six"}), "epochs is 'six'; it must be of type int"),
        "i-deep.json": (json.dumps(content | {"seeds": {"training": True}}), "seeds.training is True"),
        "j-scale.json": (json.dumps(content | {"scale": "huge"}), "scale is 'huge'"),
        "k-curve.json": (json.dumps(content | {"curves": {"auroc": [0.5]}}), "curves.auroc has 1 values for 6 epochs"),
        "l-inner.json": (
            json.dumps(content | {"fingerprint": {"train": 3}}),
            "fingerprint.train must be a table",
        ),
        "z-copy.json": (text, f"a second record of {record.name}"),
    }
    for name, (body, _) in wrong.items():
        (store / name).write_text(body)
    (store / "m-bytes.json").write_bytes(b"\xff\xfe")
    (store / "n-folder.json").mkdir()
    (store / "notes.txt").write_text("not a record, and no matter")
    records, unusable = scan(store)
    assert records == [record]
    assert {file.path.name for file in unusable} == {*wrong, "m-bytes.json", "n-folder.json"}
    for file in unusable:
        assert wrong.get(file.path.name, ("", "unreadable"))[1] in file.reason
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert read(store) == [record]
    assert len(told) == len(unusable)
    assert any("d-new.json is left out: of schema 2" in str(warning.message) for warning in told)


def test_a_damaged_file_of_the_same_run_is_not_overwritten(record: Record, store: Path) -> None:
    path = write(store, record).path
    path.write_text("{")
    with pytest.raises(DataError, match="holds this run already, but is damaged"):
        write(store, record)
    assert write(store, record, replace=True).outcome == "replaced"
    assert read(store) == [record]


def test_no_store_and_an_empty_one(tmp_path: Path, record: Record) -> None:
    with pytest.raises(DataError, match="no results store .*nowhere; make one with: lond results add"):
        read(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert read(tmp_path / "empty") == []
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file, not a folder"):
        write(tmp_path / "file", record)


def test_many_write_at_once(tmp_path: Path, store: Path) -> None:
    records = [record_of(write_run(tmp_path / str(seed), small(seed=seed))) for seed in (0, 1)]
    with ThreadPoolExecutor(6) as pool:
        written = list(pool.map(lambda record: write(store, record), records * 3))
    assert Counter(one.outcome for one in written) == {"new": 2, "kept": 4}
    assert read(store) == sorted(records, key=lambda record: record.name)
    assert len(list(store.glob("*.json"))) == 2


def test_a_detector_that_failed_gives_way(tmp_path: Path, store: Path) -> None:
    record = record_of(write_run(tmp_path / "run", detectors=True))
    failed = next(detector for detector in record.detectors if detector.problem)
    good = replace(failed, problem="", figures={"auroc": 0.75})
    write(store, record)
    others = tuple(detector for detector in record.detectors if detector != failed)
    assert write(store, replace(record, detectors=(*others, good))).outcome == "completed"
    assert good in read(store)[0].detectors and failed not in read(store)[0].detectors
    # Not the other way round.
    assert write(store, record).outcome == "kept"


def test_guessed_tags_are_those_of_the_store(record: Record, store: Path) -> None:
    assert named_as_stored(store, record) == record
    path = write(store, replace(record, scale="smoke", preset="", changes={"train.epochs": 6})).path
    named = named_as_stored(store, record)
    assert (named.scale, named.preset, named.changes) == ("smoke", "", {"train.epochs": 6})
    assert write(store, named).outcome == "kept"
    told = named_as_stored(store, record, {"scale", "preset"})
    assert (told.scale, told.preset, told.changes) == (record.scale, record.preset, record.changes)
    path.write_text("{")
    assert named_as_stored(store, record) == record
