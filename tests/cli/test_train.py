"""`lond train`: what it prints, and that a dry run leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from lond import cli
from lond.cli.train import _print_verdicts
from lond.runs.image_tables import read_verdicts

Call = Callable[..., tuple[int, str, str]]


def rows(text: str) -> dict[str, list[str]]:
    """Return value, default and origin of each setting."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    return {key: rest for key, *rest in cells}


@pytest.mark.parametrize("frozen", [False, True])
def test_everything_is_printed_and_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("own.npz", x=np.zeros((60, 16, 16, 3), dtype=np.uint8), y=np.arange(60) % 3)
    options = [
        "--method",
        "sed",
        "--epochs",
        "6",
        "--seed",
        "3",
        "--set",
        "net.width=0.125",
        "--threads",
        "1",
        "--accelerator",
        "cpu",
        "--dry-run",
    ]
    done = CliRunner().invoke(cli.app, ["train", "own.npz", *options, *(["--frozen"] if frozen else [])])
    assert done.exit_code == 0, done.output
    known, scale = rows(done.stdout), "frozen features" if frozen else "--epochs"
    assert known["data.source"] == ["own.npz", "", "own data"]
    assert known["train.epochs"] == ["6", "300", scale]
    assert known["train.seed"] == ["3", "0", "command line"]
    assert known["train.evaluation_batch"] == ["500", "", ""]
    assert "6 epochs: about" in done.stdout and ("features of the frozen network" in done.stdout) == frozen
    assert [path.name for path in tmp_path.iterdir()] == ["own.npz"]


def test_a_benchmark_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, ["train", "--preset", "mini80-sym50", "--accelerator", "cpu", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert rows(done.stdout)["net.width"] == ["0.5", "1.0", "preset mini80-sym50"]
    assert not list(tmp_path.iterdir())


def test_a_length_that_is_set_alone_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lond: Call) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("train", "--preset", "mini80-sym50", "--accelerator", "cpu", "--dry-run")
    _, out, _ = lond(*command, "--set", "train.epochs=60")
    assert (
        "note: train.epochs=60 changes the length alone and leaves settings.warmup_epochs=10, "
        "settings.ramp_epochs=16, optimiser.constant_epochs=10; --epochs 60 scales them, too"
    ) in out
    assert "changes the length alone" not in lond(*command, "--epochs", 60)[1]


def test_a_run_that_is_stopped_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lond: Call) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lond.runs.train_run", stop)
    code, out, _ = lond("train", "--preset", "digits", "--epochs", 2, "--out", tmp_path / "run")
    assert code == 130
    assert "stopped; run the same command to resume after the last finished epoch" in out


def test_a_run_that_is_there_already_is_told(tmp_path: Path, lond: Call) -> None:
    command = ["train", "--preset", "digits", "--method", "standard", "--out", tmp_path / "run", "--threads", 1]
    command += ["--epochs", 2, "--set", "net.width=0.125", "--set", "train.max_steps=2"]
    assert "note" not in lond(*command)[1]
    (tmp_path / "run" / "metrics.json").rename(tmp_path / "metrics.json")
    assert "an unfinished run with these settings: it goes on after its last finished epoch" in lond(*command)[1]
    assert "is finished already, and is not trained again; another --out starts a new one" in lond(*command)[1]
    code, out, err = lond(*command, "--seed", 1)
    assert code == 2 and "note" not in out
    assert "holds a run with other settings (train.seed). Choose another folder, or delete that one" in err


def test_a_run_among_its_images_is_refused(tmp_path: Path, lond: Call) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.new("L", (8, 8)).save(tmp_path / name / "1.png")
    for options, told in (
        (["--out", tmp_path / "run"], f"--out {tmp_path / 'run'} lies in"),
        (["--out", tmp_path], f"--out {tmp_path} is the folder of the images itself"),
        (["--frozen", "--set", f"data.frozen.cache={tmp_path / 'a'}"], f"data.frozen.cache {tmp_path / 'a'} lies in"),
    ):
        code, _, err = lond("train", tmp_path, *options)
        assert code == 2 and told in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_verdicts_and_files_left_out_are_counted(tmp_path: Path, lond: Call) -> None:
    for number in range(24):
        path = tmp_path / "images" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), 10 * number).save(path)
    (tmp_path / "images" / "a" / "empty.png").touch()
    options = ["--method", "standard", "--epochs", 1, "--threads", 1, "--set", "net.width=0.125"]
    options += ["--set", "data.read.num_workers=0"]
    code, out, err = lond("train", tmp_path / "images", "--out", tmp_path / "[red]run", *options)
    assert (code, err) == (0, "training: standard\n")
    assert "verdicts on 24 images: " in out and "left out: 1 files or folders" in out
    assert out.rstrip().endswith("[red]run") and "finished already" not in out
    assert "finished already" in lond("train", tmp_path / "images", "--out", tmp_path / "[red]run", *options)[1]


@pytest.mark.parametrize(
    ("foreign", "threshold", "told"),
    [
        (8, 0.5, "false alarms: even if no image were foreign, about 17 of 348 images (5 %)"),
        (0, 0.5, ""),
        (8, None, ""),
    ],
)
def test_false_alarms_among_the_verdicts_are_told(
    tmp_path: Path, foreign: int, threshold: float | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = ["foreign"] * foreign + ["unreadable"] * 2 + ["clean"] * (358 - foreign)
    lines = ["id,verdict", *(f"{number},{verdict}" for number, verdict in enumerate(verdicts))]
    (tmp_path / "verdicts.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "metrics.json").write_text(json.dumps({"threshold": threshold, "false_alarm_rate": 0.05}))
    train = {"problems": [], "confirmed": 10}
    (tmp_path / "manifest.json").write_text(json.dumps({"data": {"train": train}}))
    _print_verdicts(tmp_path, "cross-fit")
    out = capsys.readouterr().out
    assert "verdicts on 360 images" in out and ("false alarms" in out) == bool(told) and told in out


@pytest.mark.parametrize(("method", "told"), [("cross-fit", "taken as known"), ("standard", "as any other label")])
def test_confirmed_labels_of_a_corrected_set_are_told(tmp_path: Path, lond: Call, method: str, told: str) -> None:
    names = []
    for number in range(24):
        names.append(f"{'ab'[number % 2]}/{number}.png")
        path = tmp_path / "corrected" / names[-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), 100 * (number % 2) + number).save(path)
    (tmp_path / "corrected" / "class_folders.csv").write_text("class,folder\na,a\nb,b\n")
    (tmp_path / "corrected" / "confirmed.csv").write_text("\n".join(["path", *names[:3]]) + "\n")
    command = ["train", tmp_path / "corrected", "--out", tmp_path / "run", "--method", method, "--epochs", 2]
    command += ["--threads", 1, "--set", "net.width=0.125", "--set", "data.read.num_workers=0"]
    code, out, _ = lond(*command)
    assert code == 0 and "labels confirmed by a person: 3, " in out and told in out
    verdicts = read_verdicts(tmp_path / "run" / "verdicts.csv")
    known = dict(zip(verdicts["id"], zip(verdicts["verdict"], verdicts["suggested_label"], strict=True), strict=True))
    assert [known[name] for name in names[:3]] == [("clean", name[0]) for name in names[:3]]
    (tmp_path / "corrected" / "confirmed.csv").write_text("\n".join(["path", *names[:4]]) + "\n")
    code, _, err = lond(*command)
    assert code == 2 and "a run on other data" in " ".join(err.split()), "other labels are known now"
