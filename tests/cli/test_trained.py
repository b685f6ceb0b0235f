"""The commands that use a trained run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from methods.tiny import VIEWS, tiny_samples
from PIL import Image

from lond.config import DataSettings, NetSettings, RunConfig
from lond.methods import StandardSettings
from lond.runs import load_run, save_trained, train_samples
from lond.train.loop import TrainSettings

Call = Callable[..., tuple[int, str, str]]
CONFIG = RunConfig(
    data=DataSettings(source="memory"),
    net=NetSettings(width=0.125),
    views=VIEWS,
    method="standard",
    settings=StandardSettings(),
    train=TrainSettings(epochs=1, batch_size=16, average_last=1),
)
SAMPLES = tiny_samples(48)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_trained(tmp_path / "run", train_samples(CONFIG, SAMPLES, None))
    return tmp_path / "run"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Write 30 images, the last three under a name that the run does not know."""
    names = np.array([*(SAMPLES.class_names[label] for label in SAMPLES.labels[:27]), "dog", "dog", "dog"])
    np.savez(tmp_path / "images.npz", x=SAMPLES.pixels.images[:30, 0].numpy(), y=names)
    return tmp_path / "images.npz"


def test_evaluate_counts_unknown_names_as_foreign(run: Path, images: Path, tmp_path: Path, lond: Call) -> None:
    code, out, err = lond("evaluate", run, "--data", images, "--out", tmp_path / "new" / "m.json")
    assert (code, err) == (0, "")
    assert "30 images" in out and "auroc" in out and "not finished" not in out
    content = json.loads((tmp_path / "new" / "m.json").read_text())
    assert content["images"] == 30 and {"accuracy", "auroc"} <= content["metrics"].keys()
    (run / "metrics.json").unlink()
    assert "note: the run is not finished" in lond("evaluate", run, "--data", images)[1]


def test_predict_writes_a_row_an_image_at_any_threshold(run: Path, images: Path, tmp_path: Path, lond: Call) -> None:
    for threshold, verdict, foreign in ((-1e9, "foreign", 30), (1e9, "known", 0)):
        code, out, _ = lond("predict", run, images, "--out", tmp_path / "p.csv", "--threshold", threshold)
        assert code == 0 and f"30 images: {foreign} foreign, 0 unreadable; written to" in out
        assert "it has a scale of its own, and is a probability in audit.csv only" in out
        with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
            assert [row["verdict"] for row in csv.DictReader(file)] == [verdict] * 30


def test_predict_takes_single_images_and_tells_the_threshold(
    run: Path, images: Path, tmp_path: Path, lond: Call
) -> None:
    files = [tmp_path / "a.png", tmp_path / "b.PNG"]
    for file in files:
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(file)
    assert lond("calibrate", run, "--known", images, "--rate", 0.25)[0] == 0
    code, out, err = lond("predict", run, *files, "--out", tmp_path / "p.csv")
    assert (code, err) == (0, "") and "2 images: " in out
    assert "the threshold for 25 % false alarms (from 27 known images)" in out
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [file.as_posix() for file in files]
    stored = load_run(run).threshold
    assert stored is not None and {row["threshold"] for row in rows} == {f"{stored:.6g}"}
    code, out, _ = lond("predict", run, files[0], "--out", tmp_path / "p.csv", "--threshold", 7)
    assert code == 0 and "1 image: " in out and "score above 7, as --threshold says" in out
    code, _, err = lond("predict", run, files[0], images, "--out", tmp_path / "p.csv")
    assert code == 2 and "images.npz is not an image file; give one folder, one table, or image files only" in err


def test_earlier_predictions_are_replaced_only_if_they_are_named(
    run: Path, images: Path, tmp_path: Path, lond: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command, table = ["predict", run, images, "--threshold", 0], Path("predictions.csv")
    code, out, _ = lond(*command)
    assert code == 0 and "written to predictions.csv\n" in out
    before = table.read_bytes()
    code, _, err = lond(*command[:3], "--threshold", 9)
    assert code == 2 and "predictions.csv exists; name another file with --out, or replace this one" in err
    assert table.read_bytes() == before
    code, out, _ = lond(*command[:3], "--threshold", 9, "--out", table)
    assert code == 0 and "written to predictions.csv, in place of the predictions there" in out
    assert table.read_bytes() != before


def test_wrong_inputs_are_told_before_earlier_predictions(
    run: Path, images: Path, tmp_path: Path, lond: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("predictions.csv").write_text("id,class,foreign_score,verdict\n")
    Path("photos").mkdir()
    for arguments, told in (
        ([run, "nowhere"], "there is no file or folder nowhere; check its name"),
        ([run, "nowhere.png", images], "there is no file or folder nowhere.png"),
        (["photos", images], "photos"),
        ([run, images], "predictions.csv exists; name another file with --out"),
    ):
        code, _, err = lond("predict", *arguments, "--threshold", 0)
        assert code == 2 and told in err and ("predictions.csv" in err) == ("predictions.csv" in told)


def test_no_other_file_is_replaced_by_predictions(run: Path, images: Path, tmp_path: Path, lond: Call) -> None:
    other, empty = tmp_path / "audit.csv", tmp_path / "empty.csv"
    other.write_text("id,path,label,verdict,foreign_score\n")
    empty.touch()
    code, _, err = lond("predict", run, images, "--threshold", 0, "--out", other)
    assert code == 2 and "audit.csv exists and holds no predictions; name another file with --out" in err
    assert other.read_text() == "id,path,label,verdict,foreign_score\n"
    assert lond("predict", run, images, "--threshold", 0, "--out", empty)[0] == 0


def test_messages_of_commands_name_files_only(run: Path, tmp_path: Path, lond: Call) -> None:
    (tmp_path / "notes.txt").write_text("no images")
    code, _, err = lond("predict", run, tmp_path / "notes.txt", "--out", tmp_path / "p.csv")
    assert code == 2 and "notes.txt is of no known kind; give image files, a folder" in err and "Samples" not in err
    (tmp_path / "empty").mkdir()
    code, _, err = lond("predict", run, tmp_path / "empty", "--out", tmp_path / "p.csv")
    assert code == 2 and "empty holds no images; expected image files in it or its sub-folders" in err


def test_calibrate_leaves_foreign_images_out(run: Path, images: Path, lond: Call) -> None:
    code, out, err = lond("calibrate", run, "--known", images, "--rate", 0.25)
    assert (code, err) == (0, "")
    assert "from 27 known images, false alarms 25.0%" in out and "calibration error (ECE)" in out
    calibration = load_run(run).calibration
    assert calibration is not None and calibration.false_alarm_rate == 0.25


def test_what_cannot_be_done_is_refused(run: Path, images: Path, tmp_path: Path, lond: Call) -> None:
    np.savez(tmp_path / "bare.npz", x=np.zeros((3, 8, 8), np.uint8))
    for arguments, told in (
        (["evaluate", run, "--data", tmp_path / "bare.npz"], "has no labelled images to evaluate on"),
        (["predict", run, images, "--out", tmp_path], "is a folder; name a file"),
        (["predict", tmp_path / "missing", images], "there is no run folder"),
        (["predict", images, images], "give the folder of a run or an audit"),
        (["predict", tmp_path, images], "is not a trained run"),
    ):
        code, _, err = lond(*arguments)
        assert (code, told in err) == (2, True), err
