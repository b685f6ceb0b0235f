from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from lond import __version__, cli
from lond.presets.benchmarks import PRESETS
from lond.runs import load_run

NAMES = ("ant", "bee", "cow")
SMALL = [
    "--threads", "1", "--accelerator", "cpu", "--set", "net.width=0.125", "--set", "train.batch_size=16",
    "--method", "lond-drs", "--set", "settings.warmup_epochs=2", "--set", "settings.identify.neighbours=10",
    "--set", "settings.identify.clean_quantile=0.9", "--set", "data.read.num_workers=0", "--set", "views.flip=false",
]  # fmt: skip
QUICK = [
    "--method",
    "standard",
    "--epochs",
    "1",
    "--threads",
    "1",
    "--set",
    "net.width=0.125",
    "--set",
    "train.batch_size=16",
]

Call = Callable[..., tuple[int, str, str]]


def stripes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    images = np.random.RandomState(seed).randint(0, 60, (count, 12, 12, 3)).astype(np.uint8)
    labels = np.arange(count) % 3
    for image, label in zip(images, labels, strict=True):
        image[4 * label : 4 * label + 4] += 180
    return images, labels


def save_folder(root: Path, images: np.ndarray, labels: np.ndarray) -> None:
    for index, (image, label) in enumerate(zip(images, labels, strict=True)):
        (root / NAMES[label]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / NAMES[label] / f"{index:02d}.png")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 images in class folders, and one file that is none."""
    root = tmp_path_factory.mktemp("pictures")
    save_folder(root, *stripes(48))
    (root / "bee" / "bad.png").write_bytes(b"\x89PNG and no more")
    return root


@pytest.fixture(scope="module")
def run(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    done = CliRunner().invoke(cli.app, ["train", str(pictures), "--out", str(folder), "--epochs", "4", *SMALL])
    assert done.exit_code == 0, done.output
    assert f"run folder: {folder}" in done.output.replace("\n", "")
    return folder


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# From a folder of one's own to a table of predictions


def test_training_writes_the_run(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config["settings"]["warmup_epochs"] == 2
    assert config["views"]["flip"] is False
    assert config["train"]["epochs"] == 4
    problems = json.loads((run / "manifest.json").read_text())["data"]["train"]["problems"]
    assert [problem["id"] for problem in problems] == ["bee/bad.png"]
    assert len(read_csv(run / "verdicts.csv")) == 48


def test_training_again_only_reads(run: Path, pictures: Path, lond: Call) -> None:
    before = (run / "checkpoint.safetensors").stat().st_mtime_ns
    code, out, _ = lond("train", pictures, "--out", run, "--epochs", 4, *SMALL)
    assert code == 0
    assert "is finished already" in out
    assert "verdicts on 48 images" in out
    assert (run / "checkpoint.safetensors").stat().st_mtime_ns == before


def test_evaluate_counts_other_classes_as_foreign(run: Path, tmp_path: Path, lond: Call) -> None:
    save_folder(tmp_path / "test", *stripes(12, seed=1))
    (tmp_path / "test" / "cow").rename(tmp_path / "test" / "dog")
    code, out, _ = lond("evaluate", run, "--data", tmp_path / "test", "--out", tmp_path / "new" / "figures.json")
    assert code == 0
    for word in ("accuracy", "auroc", "fpr95", "12 images"):
        assert word in out
    figures = json.loads((tmp_path / "new" / "figures.json").read_text())
    assert figures["images"] == 12
    assert {"accuracy", "auroc"} <= figures["metrics"].keys()


def test_predict_writes_a_row_an_image(run: Path, pictures: Path, tmp_path: Path, lond: Call) -> None:
    table = tmp_path / "new" / "folder" / "table.csv"
    code, out, _ = lond("predict", run, pictures, "--out", table)
    assert code == 0
    assert "49 images" in out
    assert "1 unreadable" in out
    rows = read_csv(table)
    assert len(rows) == 49
    assert list(rows[0]) == ["id", "class", "probability", "foreign_score", "threshold", "p_value", "verdict", "reason"]
    assert [row["id"] for row in rows if row["verdict"] == "unreadable"] == ["bee/bad.png"]
    known = [row for row in rows if row["verdict"] != "unreadable"]
    assert np.mean([row["class"] == row["id"].split("/")[0] for row in known]) > 0.8
    assert all(0 <= float(row["foreign_score"]) <= 1 for row in known)


def test_predict_takes_loose_images_and_a_threshold(run: Path, tmp_path: Path, lond: Call) -> None:
    for index, image in enumerate(stripes(3)[0]):
        Image.fromarray(image).resize((30, 20)).save(tmp_path / f"{index}.jpg")
    code, _, _ = lond("predict", run, tmp_path, "--out", tmp_path / "p.csv", "--threshold", -1)
    assert code == 0
    assert [row["verdict"] for row in read_csv(tmp_path / "p.csv")] == ["foreign"] * 3


# Other sources


def test_a_folder_with_splits_is_evaluated_on_its_own_test_set(tmp_path: Path, lond: Call) -> None:
    save_folder(tmp_path / "data" / "train", *stripes(12))
    save_folder(tmp_path / "data" / "val", *stripes(6, seed=1))
    code, out, _ = lond("train", tmp_path / "data", "--out", tmp_path / "run", *QUICK)
    assert code == 0
    assert "accuracy" in out
    code, out, _ = lond("evaluate", tmp_path / "run")
    assert code == 0
    first = [line for line in out.splitlines() if "accuracy" in line]
    # A class that came later must not shift the numbers of the others.
    (tmp_path / "data" / "train" / "aardvark").mkdir()
    Image.fromarray(stripes(1)[0][0]).save(tmp_path / "data" / "train" / "aardvark" / "0.png")
    code, out, _ = lond("evaluate", tmp_path / "run")
    assert code == 0
    assert [line for line in out.splitlines() if "accuracy" in line] == first


def test_npz_and_csv(tmp_path: Path, lond: Call) -> None:
    images, labels = stripes(12)
    np.savez(tmp_path / "data.npz", x=images, y=[NAMES[label] for label in labels])
    save_folder(tmp_path / "files", images, labels)
    lines = [f"files/{NAMES[label]}/{index:02d}.png,{NAMES[label]}" for index, label in enumerate(labels)]
    (tmp_path / "data.csv").write_text("\n".join(["path,label", *lines, "files/missing.png,ant"]))
    code, out, _ = lond(
        "train", tmp_path / "data.npz", "--out", tmp_path / "npz", "--test", tmp_path / "data.csv", *QUICK
    )
    assert code == 0
    assert "accuracy" in out
    code, _, err = lond("train", tmp_path / "data.csv", "--out", tmp_path / "csv", *QUICK)
    assert (code, err) == (0, "training: standard\n")
    code, out, _ = lond(
        "predict", tmp_path / "csv", tmp_path / "data.csv", "--out", tmp_path / "p.csv", "--threshold", 0.5
    )
    assert code == 0
    rows = read_csv(tmp_path / "p.csv")
    assert len(rows) == 13
    assert rows[-1]["id"] == "files/missing.png"
    assert rows[-1]["verdict"] == "unreadable"


def test_the_digits_preset(tmp_path: Path, lond: Call) -> None:
    small = ["--set", "net.width=0.125", "--set", "train.evaluate_every=2", "--threads", 1]
    code, out, _ = lond(
        "train", "--preset", "digits", "--method", "standard", "--epochs", 1, "--out", tmp_path / "a", *small
    )
    assert code == 0
    for word in ("accuracy", "auroc", "fpr95"):
        assert word in out
    code, out, _ = lond("train", "--preset", "digits", "--epochs", 1, "--out", tmp_path / "b", *small)
    assert code == 0
    assert "note: all 1 epochs are warm-up" in out
    config = json.loads((tmp_path / "b" / "config.json").read_text())
    assert config["data"]["benchmark"]["name"] == "digits"
    assert config["method"] == "lond-drs"
    code, out, _ = lond("evaluate", tmp_path / "b")
    assert code == 0
    assert "599 images" in out


def test_list_shows_every_name(lond: Call) -> None:
    code, out, _ = lond("list")
    assert code == 0
    for name in (*PRESETS, "standard", "mini80", "msp", "seven-layer"):
        assert name in out


def test_set_takes_spaces_equals_signs_and_other_methods(tmp_path: Path, pictures: Path, lond: Call) -> None:
    code, _, _ = lond(
        "train", pictures, "--out", tmp_path / "run", "--epochs", 1, "--threads", 1, "--set", " net.width = 0.125 ",
        "--set", "method=standard", "--set", "settings.hidden=8", "--set", "data.read.label_column=a=b",
    )  # fmt: skip
    assert code == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["net"]["width"] == 0.125
    assert config["data"]["read"]["label_column"] == "a=b"
    assert (config["method"], config["settings"]["hidden"]) == ("standard", 8)


# Errors: one line, exit code 2, no trace


def error_line(result: tuple[int, str, str]) -> str:
    code, _, err = result
    assert code == 2
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "give either SOURCE"),
        (["train", "{pictures}", "--preset", "digits"], "give either SOURCE"),
        (["train", "{tmp}/missing"], "there is no file or folder"),
        (["train", "{tmp}/empty"], "holds no images"),
        (["train", "{tmp}/notes.txt"], "of no known kind"),
        (["train", "--preset", "digit"], "there is no preset 'digit'"),
        (["train", "--preset", "digits", "--test", "x"], "--test goes with SOURCE"),
        (["train", "--preset", "cifar80n-sym20", "--root", "{tmp}/empty"], "empty"),
        (["train", "{pictures}", "--method", "magic"], "there is no method 'magic'"),
        (["train", "{pictures}", "--set", "train.epoch=3"], "did you mean 'train.epochs'?"),
        (["train", "{pictures}", "--set", "train.epochs"], "--set needs KEY=VALUE"),
        (["train", "{pictures}", "--set", "train.epochs=many"], "train.epochs is 'many'"),
        (["train", "{pictures}", "--epochs", "0"], "a run needs at least 1 epoch, not 0"),
        (["train", "{pictures}", "--set", "net.backbone=magic"], "there is no backbone 'magic'"),
        (["train", "{pictures}", "--accelerator", "magic"], "accelerator 'magic' is unknown"),
        (["train", "{pictures}", "--precision", "7"], "precision '7' is unknown"),
        (["train", "{pictures}", "--devices", "0"], "devices"),
        (["train", "{pictures}", "--test", "{tmp}/missing"], "there is no"),
        (["train", "{pictures}", "--out", "{tmp}/notes.txt"], "is a file"),
        (["train", "{pictures}", "--out", "{pictures}"], "is the folder of the images itself"),
        (["train", "{pictures}", "--out", "{tmp}/loose"], "not empty and holds no run"),
        (["train", "{pictures}", "--out", "{run}"], "holds a run with other settings"),
        (["evaluate", "{tmp}/missing"], "there is no run folder"),
        (["evaluate", "{run}"], "without test data"),
        (["evaluate", "{run}", "--data", "{tmp}/missing"], "there is no"),
        (["evaluate", "{run}", "--data", "{tmp}/loose"], "no labelled images"),
        (["predict", "{tmp}/missing", "{pictures}", "--out", "{tmp}/p.csv"], "there is no run folder"),
        (["predict", "{run}", "{tmp}/missing", "--out", "{tmp}/p.csv"], "there is no"),
        (["predict", "{run}", "{pictures}", "--out", "{tmp}"], "is a folder; name a file"),
        (["predict", "{run}", "{pictures}", "--out", "{tmp}/notes.txt/p.csv"], "notes.txt"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], message: str, pictures: Path, run: Path, tmp_path: Path, lond: Call
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "loose").mkdir()
    Image.fromarray(stripes(1)[0][0]).save(tmp_path / "loose" / "0.png")
    (tmp_path / "notes.txt").write_text("no data")
    filled = [text.format(pictures=pictures, run=run, tmp=tmp_path) for text in arguments]
    if filled[0] == "train" and "--out" not in filled:
        filled += ["--out", str(tmp_path / "new" / "run")]
    assert message in error_line(lond(*filled))


def test_markup_in_a_name_is_shown_as_it_is(tmp_path: Path, lond: Call) -> None:
    assert "[bold]x" in error_line(lond("train", tmp_path / "[bold]x"))
    save_folder(tmp_path / "[red]y", *stripes(6))
    code, out, _ = lond("train", tmp_path / "[red]y", "--out", tmp_path / "[red]run", *QUICK)
    assert code == 0
    assert "[red]run" in out
    code, out, _ = lond("evaluate", tmp_path / "[red]run", "--data", tmp_path / "[red]y")
    assert code == 0
    assert "[red]y" in out.replace("\n", "")


@pytest.mark.parametrize("arguments", [["train", "--epochs", "many"], ["fly"], ["predict"], ["list", "--what"]])
def test_a_misspelt_command_explains_itself(arguments: list[str], lond: Call) -> None:
    code, out, err = lond(*arguments)
    assert code == 2
    assert "Usage" in out + err
    assert "Traceback" not in out + err


def test_help_names_all_commands() -> None:
    shown = CliRunner().invoke(cli.app, ["--help"]).output
    for command in ("train", "evaluate", "predict", "list"):
        assert command in shown


# As a program of its own


def program(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "lond.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_the_program_says_its_version() -> None:
    done = program("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"lond {__version__}\n", "")


def test_the_program_predicts(run: Path, pictures: Path, tmp_path: Path) -> None:
    done = program("predict", run, pictures, "--out", tmp_path / "p.csv")
    assert done.returncode == 0, done.stderr
    assert len(read_csv(tmp_path / "p.csv")) == 49


def test_the_programs_error_is_one_line_however_narrow_the_screen(tmp_path: Path) -> None:
    done = program("train", tmp_path / ("long" * 40), "--out", tmp_path / "run")
    assert error_line((done.returncode, done.stdout, done.stderr))
    assert not (tmp_path / "run").exists()


# Decisions from checked images, and detectors


@pytest.fixture
def own_run(run: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(run, tmp_path / "own run"))


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checked")
    save_folder(root, *stripes(42, seed=3))
    return root


@pytest.fixture(scope="module")
def clutter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clutter")
    for index, image in enumerate(np.random.RandomState(4).randint(0, 255, (12, 12, 12, 3)).astype(np.uint8)):
        Image.fromarray(image).save(root / f"{index}.png")
    return root


def test_predict_uses_the_calibrated_decision(
    own_run: Path, pictures: Path, checked: Path, clutter: Path, tmp_path: Path, lond: Call
) -> None:
    shutil.copytree(checked, tmp_path / "mixed")
    shutil.copytree(clutter, tmp_path / "mixed" / "clutter")
    code, out, err = lond("calibrate", own_run, "--known", tmp_path / "mixed", "--rate", 0.25)
    assert (code, err) == (0, "")
    assert "from 42 known images, false alarms 25.0%" in out
    assert "temperature" in out
    assert "ECE" in out
    calibration = load_run(own_run).calibration
    assert calibration is not None
    assert (calibration.false_alarm_rate, len(calibration.known_scores)) == (0.25, 42)
    assert str(tmp_path / "mixed") in calibration.source
    # A second look at the finished run leaves the calibration alone.
    stored = (own_run / "decision.safetensors").read_bytes()
    assert lond("train", pictures, "--out", own_run, "--epochs", 4, *SMALL)[0] == 0
    assert (own_run / "decision.safetensors").read_bytes() == stored
    for folder in (checked, clutter):
        assert lond("predict", own_run, folder, "--out", tmp_path / f"{folder.name}.csv")[0] == 0
    rows = read_csv(tmp_path / f"{checked.name}.csv")
    assert list(rows[0]) == ["id", "class", "probability", "foreign_score", "threshold", "p_value", "verdict", "reason"]
    for row in rows + read_csv(tmp_path / f"{clutter.name}.csv"):
        assert (row["verdict"] == "foreign") == (float(row["p_value"]) <= 0.25)
        assert (row["verdict"] == "foreign") == (float(row["foreign_score"]) > calibration.threshold * (1 + 1e-5))
    # Of the images themselves just those above the 33rd of 42 are called foreign: 43 * 0.25 = 10.75.
    assert sum(row["verdict"] == "foreign" for row in rows) <= 10
    loaded = load_run(own_run)
    expected = calibration.probabilities(loaded.predict(loaded.read(checked))).amax(dim=1)
    assert [float(row["probability"]) for row in rows] == pytest.approx(expected.tolist(), rel=1e-4)


def test_images_without_labels_give_a_threshold_only(own_run: Path, clutter: Path, lond: Call) -> None:
    code, out, _ = lond("calibrate", own_run, "--known", clutter, "--rate", 0.1)
    assert code == 0
    assert "from 12 known images" in out
    assert "temperature" not in out


def test_detect_writes_table_and_figures(run: Path, checked: Path, clutter: Path, tmp_path: Path, lond: Call) -> None:
    target = tmp_path / "[red]detect"
    code, out, err = lond(
        "detect", run, "--known", checked, "--foreign", clutter, "--only", "msp, open-world,knn", "--out", target
    )
    assert (code, err) == (0, "")
    for word in ("msp", "open-world", "knn", "clean", "all", "AUROC", "[red]detect"):
        assert word in out
    content = json.loads((target / "detectors.json").read_text())
    assert (content["known"], content["foreign"]) == (42, 12)
    assert [row["name"] for row in content["detectors"]] == ["msp", "open-world", "knn", "knn"]
    assert all(row["seconds"] >= 0 for row in content["detectors"])
    for name in ("histograms.png", "histograms.svg", "roc.png", "roc.svg"):
        assert (target / name).stat().st_size > 0


def test_detect_takes_the_runs_own_test_set(tmp_path: Path, lond: Call) -> None:
    save_folder(tmp_path / "data" / "train", *stripes(24))
    save_folder(tmp_path / "data" / "test", *stripes(12, seed=1))
    code, _, _ = lond("train", tmp_path / "data", "--out", tmp_path / "run", *QUICK)
    assert code == 0
    assert "does not hold both" in error_line(lond("detect", tmp_path / "run"))
    assert "open-world does not suit" in error_line(
        lond("detect", tmp_path / "run", "--only", "open-world", "--known", tmp_path / "data", "--foreign", tmp_path)
    )
    (tmp_path / "data" / "test" / "cow").rename(tmp_path / "data" / "test" / "dog")
    code, out, _ = lond("detect", tmp_path / "run", "--only", "msp,rankfeat")
    assert code == 0
    assert "rankfeat" in out
    assert (tmp_path / "run" / "detect" / "roc.svg").is_file()
    # A class that came later would shift the labels that detectors are fitted on.
    (tmp_path / "data" / "train" / "aardvark").mkdir()
    Image.fromarray(stripes(1)[0][0]).save(tmp_path / "data" / "train" / "aardvark" / "0.png")
    assert "has changed since" in error_line(lond("detect", tmp_path / "run", "--only", "mds"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "{run}", "--known", "{tmp}/missing"], "there is no"),
        (["calibrate", "{tmp}/nothing", "--known", "{checked}"], "there is no run folder"),
        (["calibrate", "{run}", "--known", "{tmp}/empty"], "empty"),
        (["calibrate", "{run}", "--known", "{tmp}/foreign"], "holds no known images"),
        (["calibrate", "{run}", "--known", "{tmp}/one"], "one class only"),
        (["calibrate", "{run}", "--known", "{checked}", "--rate", "0.01"], "needs at least 99 known samples"),
        (["calibrate", "{run}", "--known", "{checked}", "--rate", "2"], "between 0 and 1"),
        (["detect", "{run}"], "trained without test data"),
        (["detect", "{run}", "--known", "{checked}"], "give both --known and --foreign"),
        (["detect", "{run}", "--foreign", "{checked}"], "give both --known and --foreign"),
        (["detect", "{run}", "--only", "msp,magic"], "there is no 'magic'; choose from: own, msp, "),
        (["detect", "{tmp}/nothing"], "there is no run folder"),
    ],
)
def test_errors_of_decisions_and_detectors_are_one_line(
    arguments: list[str], message: str, own_run: Path, checked: Path, tmp_path: Path, lond: Call
) -> None:
    before = (own_run / "decision.safetensors").read_bytes()
    (tmp_path / "empty").mkdir()
    save_folder(tmp_path / "foreign", *stripes(30))
    for name, other in zip(NAMES, ("dog", "eel", "fox"), strict=True):
        (tmp_path / "foreign" / name).rename(tmp_path / "foreign" / other)
    save_folder(tmp_path / "one", stripes(30)[0], np.zeros(30, int))
    filled = [text.format(run=own_run, checked=checked, tmp=tmp_path) for text in arguments]
    assert message in error_line(lond(*filled))
    assert (own_run / "decision.safetensors").read_bytes() == before
    # A misspelt folder is not made: `lond train` would refuse it later.
    assert not (tmp_path / "nothing").exists()
    assert not (own_run / "detect").exists()


def test_missing_matplotlib_is_one_line(
    run: Path, checked: Path, clutter: Path, tmp_path: Path, lond: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    call = lond("detect", run, "--known", checked, "--foreign", clutter, "--out", tmp_path / "out")
    assert "pip install 'lond[plots]'" in error_line(call)


def test_help_names_the_new_commands() -> None:
    shown = CliRunner().invoke(cli.app, ["--help"]).output
    assert "calibrate" in shown
    assert "detect" in shown


@pytest.mark.parametrize("limit", [2**31, 0], ids=["in memory", "from files"])
def test_unreadable_images_do_not_take_part_in_a_calibration(
    own_run: Path, checked: Path, tmp_path: Path, limit: int, lond: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lond.runs.data.MEMORY_LIMIT", limit)
    shutil.copytree(checked, tmp_path / "checked")
    (tmp_path / "checked" / "bee" / "bad.png").write_bytes(b"\x89PNG and no more")
    code, out, _ = lond("calibrate", own_run, "--known", tmp_path / "checked")
    assert code == 0
    assert "from 42 known images" in out


COMPARE = [
    "--threads", "1", "--accelerator", "cpu", "--epochs", "1", "--set", "net.width=0.125",
    "--set", "train.batch_size=16", "--set", "data.read.num_workers=0", "--set", "views.flip=false",
]  # fmt: skip


def test_compare_two_methods(pictures: Path, checked: Path, tmp_path: Path, lond: Call) -> None:
    options = ["--methods", "standard,co-teaching", "--seeds", "0,1", "--out", tmp_path / "c", *COMPARE]
    code, out, _ = lond("compare", pictures, "--test", checked, *options)
    assert code == 0
    assert "4 runs, 0 finished before" in out
    assert "[4/4]" in out
    for name in ("comparison.md", "comparison.csv", "comparison.json", "curves.png", "curves.svg"):
        assert (tmp_path / "c" / name).stat().st_size > 100
        assert name in out
    with (tmp_path / "c" / "comparison.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["method"], row["n"]) for row in rows} == {("standard", "2"), ("co-teaching", "2")}
    code, out, _ = lond("compare", pictures, "--test", checked, *options)
    assert code == 0
    assert "4 runs, 4 finished before" in out


def test_compare_takes_settings_for_one_method(pictures: Path, checked: Path, tmp_path: Path, lond: Call) -> None:
    options = ["--methods", "standard,co-teaching", "--out", tmp_path / "c", *COMPARE]
    code, *_ = lond("compare", pictures, "--test", checked, *options, "--set", "co-teaching:settings.noise_rate=0.4")
    assert code == 0
    settings = json.loads((tmp_path / "c" / "co-teaching-seed0" / "config.json").read_text())["settings"]
    assert settings["noise_rate"] == 0.4


def test_compare_without_matplotlib_still_writes_the_table(
    pictures: Path, checked: Path, tmp_path: Path, lond: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    options = ["--methods", "standard", "--out", tmp_path / "c", *COMPARE]
    code, out, _ = lond("compare", pictures, "--test", checked, *options)
    assert code == 0
    assert "no figure" in out
    assert (tmp_path / "c" / "comparison.md").is_file()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--methods", "magic"], "magic"),
        (["--seeds", "one"], "--seeds"),
        (["--jobs", "0"], "--jobs"),
        (["--epochs", "0"], "at least 1 epoch"),
        (["--set", "magic:train.epochs=3"], "'magic' is not among the methods"),
        (
            ["--methods", "standard,disc", "--set", "sed:train.epochs=3"],
            "'sed' is not among the methods standard, disc",
        ),
        (["--methods", "standard", "--set", "train.seed=3"], "seeds are set with --seeds"),
        (["--methods", "standard", "--set", "standard:train.seed=3"], "seeds are set with --seeds"),
        (["--methods", "standard", "--set", "train.epoch=3"], "train.epochs"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(
    arguments: list[str], named: str, pictures: Path, checked: Path, tmp_path: Path, lond: Call
) -> None:
    call = lond("compare", pictures, "--test", checked, "--out", tmp_path / "c", *arguments)
    assert named in error_line(call)
    assert not (tmp_path / "c").exists()


def test_a_comparison_without_test_data_is_refused(pictures: Path, tmp_path: Path, lond: Call) -> None:
    call = lond("compare", pictures, "--methods", "standard", "--out", tmp_path / "c", *COMPARE)
    assert "needs labelled test data" in error_line(call)
    assert not (tmp_path / "c").exists()


def test_a_smaller_comparison_names_what_it_leaves_out(
    pictures: Path, checked: Path, tmp_path: Path, lond: Call
) -> None:
    options = ["--out", tmp_path / "c", *COMPARE]
    assert lond("compare", pictures, "--test", checked, "--methods", "standard", "--seeds", "0,1", *options)[0] == 0
    code, out, _ = lond("compare", pictures, "--test", checked, "--methods", "standard", "--seeds", "0", *options)
    assert code == 0
    assert "not in this table, but in the folder: standard-seed1" in out
    assert "F1" not in out


def test_a_method_setting_without_its_prefix_is_pointed_at(pictures: Path, tmp_path: Path, lond: Call) -> None:
    call = lond("train", pictures, "--out", tmp_path / "r", "--set", "sharpening=1")
    assert "did you mean 'settings.sharpening'" in error_line(call)


# Answers without waiting


@pytest.mark.parametrize(
    ("arguments", "rich_too"),
    [
        (["--help"], True),
        (["list"], True),
        (["--version"], True),
        *[
            ([name, "--help"], True)
            for name in ("audit", "apply", "results", "reproduce", "train", "compare", "calibrate")
        ],
        (["reproduce", "--list"], False),
    ],
)
def test_help_and_lists_load_no_network(arguments: list[str], rich_too: bool) -> None:
    """With rich_too the command does without rich as well, which tables and colours need."""
    costly = {"torch", "numpy", "sklearn", "matplotlib", "PIL", *(["rich"] if rich_too else [])}
    code = f"""
import sys
from lond.cli import main
sys.argv = ["lond", *{arguments}]
try:
    main()
finally:
    print(sorted({costly} & sys.modules.keys()), file=sys.stderr)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout
    assert shown.stderr.strip() == "[]"
