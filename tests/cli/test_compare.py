"""`lond compare`: what it plans and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lond.results import Group, Record, Seeds
from lond.results.compare import Comparison

Call = Callable[..., tuple[int, str, str]]
RECORD = Record("i", "v", "sed", "digits", "", "mini", Seeds(0), {}, mean_over_last=3, metrics={"accuracy": 0.5})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what is asked for; nothing is trained, and one run fails if a problem is put in."""
    found: dict[str, Any] = {"problems": {}}

    def compare(jobs: list[Any], title: str, store: Path, **options: Any) -> Comparison:
        found.update(jobs=jobs, title=title, store=store, **options)
        for job in jobs:
            job.folder.mkdir(parents=True)
            (job.folder / "metrics.json").touch()
        key = {"method": "sed", "epochs": 24, "batch_size": 128}
        return Comparison(title, (Group(key, (RECORD, replace(RECORD, identity="j"))),), found["problems"])

    monkeypatch.setattr("lond.results.compare.compare", compare)
    return found


def test_every_method_and_seed_is_planned(tmp_path: Path, asked: dict[str, Any], lond: Call) -> None:
    options = ["--methods", "sed,standard", "--seeds", "1,0", "--jobs", 2, "--threads", 3, "--epochs", 5]
    own = ["--set", "sed:train.batch_size=16"]
    code, out, err = lond("compare", "--preset", "digits", "--out", tmp_path / "c", *options, *own)
    assert (code, err) == (0, "")
    runs = {(job.config.method, job.config.train.seed): job.config.train for job in asked["jobs"]}
    assert set(runs) == {("sed", 1), ("sed", 0), ("standard", 1), ("standard", 0)}
    assert {train.epochs for train in runs.values()} == {5}
    assert (runs["sed", 0].batch_size, runs["standard", 0].batch_size) == (16, 64)
    assert (asked["workers"], asked["runtime"].threads, asked["store"]) == (2, 3, tmp_path / "c" / "store")
    assert out.startswith("digits, means over the last 3 epochs of every run")
    assert "50.00 ± 0.00" in out and "128" not in out
    assert (tmp_path / "c" / "comparison.md").is_file()


def test_frozen_features_are_in_the_title(tmp_path: Path, asked: dict[str, Any], lond: Call) -> None:
    lond("compare", "--preset", "digits", "--methods", "sed", "--frozen", "--out", tmp_path)
    assert asked["title"] == "digits on frozen features"


def test_other_runs_in_the_folder_are_named(tmp_path: Path, asked: dict[str, Any], lond: Call) -> None:
    (tmp_path / "sed-seed9").mkdir()
    (tmp_path / "sed-seed9" / "metrics.json").touch()
    (tmp_path / "no run").mkdir()
    _, out, _ = lond("compare", "--preset", "digits", "--methods", "sed", "--out", tmp_path)
    assert "note: not in this table, but in the folder: sed-seed9\n" in out


def test_a_run_that_failed_is_told_by_the_exit_code(tmp_path: Path, asked: dict[str, Any], lond: Call) -> None:
    asked["problems"] = {"sed, seed 0": "no memory"}
    assert lond("compare", "--preset", "digits", "--methods", "sed", "--out", tmp_path)[0] == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["--methods", "magic"], "there is no 'magic'"),
        (["--methods", "sed", "--set", "disc:train.epochs=3"], "'disc' is not among the methods sed"),
        (["--methods", "sed", "--set", "train.seed=3"], "seeds are set with --seeds"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: list[str], told: str, tmp_path: Path, asked: dict[str, Any], lond: Call
) -> None:
    code, _, err = lond("compare", "--preset", "digits", "--out", tmp_path / "c", *options)
    assert (code, told in err, "jobs" in asked) == (2, True, False)


def test_a_length_that_is_set_alone_is_noted(tmp_path: Path, asked: dict[str, Any], lond: Call) -> None:
    command = ("compare", "--preset", "digits", "--methods", "standard,sed", "--out", tmp_path)
    _, out, _ = lond(*command, "--set", "sed:train.epochs=6")
    assert "note: train.epochs changes the length alone and leaves warm-ups" in out and "(sed); --epochs" in out
    assert "changes the length alone" not in lond(*command, "--epochs", 6)[1]


def test_runs_among_their_images_are_refused(tmp_path: Path, asked: dict[str, Any], lond: Call) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.new("L", (8, 8)).save(tmp_path / name / "1.png")
    own = ["compare", tmp_path, "--methods", "standard"]
    code, _, err = lond(*own, "--out", tmp_path / "runs")
    assert code == 2 and f"--out {tmp_path / 'runs'} lies in" in err
    code, _, err = lond(*own, "--frozen", "--set", f"data.frozen.cache={tmp_path / 'features'}")
    assert code == 2 and f"data.frozen.cache {tmp_path / 'features'} lies in" in err
    assert "jobs" not in asked
