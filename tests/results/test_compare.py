"""Several methods side by side: trained once, gathered, written, drawn."""

from __future__ import annotations

import csv
import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from methods.tiny import write_npz

import lond.plots
import lond.results.compare
import lond.results.jobs
from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.options import ReadOptions
from lond.data.views import ViewSettings
from lond.errors import CollapseError, ConfigError
from lond.presets.scaling import with_method
from lond.results.compare import FIGURES, Report, Row, cells, compare, draw, markdown, write_tables
from lond.results.jobs import Job, plan
from lond.train.loop import TrainSettings
from lond.train.runtime import RuntimeSettings

ONE = RuntimeSettings(accelerator="cpu", threads=1)


@pytest.fixture
def base(tmp_path: Path) -> RunConfig:
    write_npz(tmp_path / "train.npz", 48)
    write_npz(tmp_path / "test.npz", 24)
    data = DataSettings(
        source=str(tmp_path / "train.npz"), test_source=str(tmp_path / "test.npz"), read=ReadOptions(size=8)
    )
    return RunConfig(
        data=data,
        net=NetSettings(width=0.125),
        views=ViewSettings(padding=1, flip=False, strong="geometric"),
        train=TrainSettings(epochs=2, batch_size=16, average_last=1),
    )


def jobs_of(base: RunConfig, folder: Path, seeds: tuple[int, ...] = (0, 1)) -> list[Job]:
    standard = with_method(base, "standard")
    smooth = replace(standard, settings=replace(standard.settings, label_smoothing=0.2))
    return plan({"standard": standard, "smooth": smooth}, seeds, folder)


def test_every_method_and_seed_is_trained_once(
    base: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    jobs = jobs_of(base, tmp_path / "c")
    report = compare(jobs, "stripes", runtime=ONE, say=said.append)
    assert said[0] == "4 runs, 0 finished before"
    assert said[-1].startswith("[4/4] smooth, seed 1: accuracy ")
    assert {row.method: row.seeds for row in report.rows} == {"standard": [0, 1], "smooth": [0, 1]}
    for row in report.rows:
        stored = [
            json.loads((tmp_path / "c" / f"{row.method}-seed{seed}" / "metrics.json").read_text()) for seed in (0, 1)
        ]
        accuracies = [outcome["metrics"]["accuracy"] for outcome in stored]
        assert row.values["accuracy"] == accuracies
        assert row.mean("accuracy") == pytest.approx(sum(accuracies) / 2)
        assert row.deviation("accuracy") == pytest.approx(statistics.stdev(accuracies))
        assert row.mean("auroc") is None
    assert report.rows[0].mean("accuracy") >= report.rows[1].mean("accuracy")
    assert [len(run) for run in report.curves["smooth"]] == [2, 2]
    # The second time nothing is trained.
    monkeypatch.setattr(lond.results.jobs, "train_run", lambda *_, **__: pytest.fail("trained again"))
    again = compare(jobs_of(base, tmp_path / "c"), "stripes", say=said.append)
    assert said[-1] == "4 runs, 4 finished before"
    assert again == report


def test_two_at_a_time_give_the_same(base: RunConfig, tmp_path: Path) -> None:
    alone = compare(jobs_of(base, tmp_path / "a", (0,)), "t", runtime=ONE)
    said: list[str] = []
    together = compare(jobs_of(base, tmp_path / "b", (0,)), "t", runtime=ONE, workers=2, say=said.append)
    assert {row.method: row.values for row in alone.rows} == {row.method: row.values for row in together.rows}
    # Which one ends first is chance.
    assert [line[:5] for line in said] == ["2 run", "[1/2]", "[2/2]"]
    assert {line[6:].split(": accuracy ")[0] for line in said[1:]} == {"standard, seed 0", "smooth, seed 0"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_warning_names_the_run_it_comes_from(base: RunConfig, tmp_path: Path, workers: int) -> None:
    mix = with_method(base, "dividemix")
    # Posteriors are of single precision, in which the threshold is 1 and nothing lies above it.
    mix = replace(mix, settings=replace(mix.settings, warmup_epochs=1, clean_threshold=1 - 1e-12))
    with pytest.warns(UserWarning, match="judged clean") as told:
        report = compare(plan({"dividemix": mix}, [0, 1], tmp_path / "c"), "t", runtime=ONE, workers=workers)
    assert report.rows[0].seeds == [0, 1]
    texts = sorted(str(warning.message) for warning in told)
    assert [text.split("; ")[0] for text in texts] == [
        f"dividemix, seed {seed}: epoch 1: fewer than two samples are judged clean" for seed in (0, 1)
    ]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CollapseError("the loss is\nnot finite"), "the loss is not finite"),
        (RuntimeError("size\n  mismatch"), "RuntimeError: size mismatch"),
    ],
)
def test_a_run_that_fails_does_not_stop_the_others(
    error: Exception, told: str, base: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = lond.results.jobs.train_run

    def sometimes(config, folder, *arguments, **options):
        if "smooth" in str(folder):
            raise error
        return real(config, folder, *arguments, **options)

    monkeypatch.setattr(lond.results.jobs, "train_run", sometimes)
    report = compare(jobs_of(base, tmp_path / "c", (0,)), "t", runtime=ONE)
    good, bad = report.rows
    assert good.method == "standard"
    assert good.seeds == [0]
    assert bad.problems == {"0": told}
    assert bad.seeds == []
    assert f"smooth, seed 0: {told}" in markdown(report)
    assert cells(bad)[2:] == ["–"] * len(FIGURES) + ["all", "–"]
    write_tables(report, tmp_path / "c")
    assert draw(report, tmp_path / "c")


def test_settings_and_data_are_checked_before_any_work(base: RunConfig, tmp_path: Path) -> None:
    jobs = jobs_of(base, tmp_path / "c", (0,))
    compare(jobs, "t", runtime=ONE)
    longer = replace(base, train=replace(base.train, epochs=3))
    with pytest.raises(ConfigError, match=r"train\.epochs"):
        jobs_of(longer, tmp_path / "c", (0, 1))
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"standard-seed0", "smooth-seed0"}
    write_npz(tmp_path / "train.npz", 51)
    with pytest.raises(ConfigError, match="other data"):
        compare(jobs_of(base, tmp_path / "c", (0, 1)), "t", runtime=ONE)
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"standard-seed0", "smooth-seed0"}


def test_methods_on_different_data_are_refused(base: RunConfig, tmp_path: Path) -> None:
    other = replace(base, data=replace(base.data, hold_out=0.25))
    configs = {"standard": with_method(base, "standard"), "other": with_method(other, "standard")}
    with pytest.raises(ConfigError, match="on the same data"):
        compare(plan(configs, [0], tmp_path / "c"), "t", runtime=ONE)
    assert not (tmp_path / "c").exists()


def test_no_test_data_is_refused(base: RunConfig, tmp_path: Path) -> None:
    alone = replace(base, data=replace(base.data, test_source=""))
    with pytest.raises(ConfigError, match="needs labelled test data"):
        compare(jobs_of(alone, tmp_path / "c"), "t")
    assert not (tmp_path / "c").exists()


def test_a_place_where_no_folder_can_be_made_is_refused(base: RunConfig, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no folder")
    with pytest.raises(ConfigError, match="is a file, not a folder"):
        jobs_of(base, tmp_path / "notes.txt")
    jobs = jobs_of(base, tmp_path / "notes.txt" / "c")
    with pytest.raises(NotADirectoryError, match="notes.txt"):
        compare(jobs, "t", runtime=ONE)


ROW = Row("disc", [0, 1], {"accuracy": [0.5, 0.6], "auroc": [0.7, 0.7]}, 30, 128, 20, 3, 12.34, {})


def test_tables_by_hand(tmp_path: Path) -> None:
    report = Report("mini", [ROW, replace(ROW, method="sed", seeds=[0], values={"accuracy": [0.4]}, max_steps=0)], {})
    write_tables(report, tmp_path)
    lines = (tmp_path / "comparison.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "**mini**, means over the last 3 epoch(s)"
    assert lines[4] == "| disc | 2 | 55.00 ± 7.07 | 70.00 ± 0.00 | – | – | – | at most 20 a phase | 12.3 |"
    assert lines[5] == "| sed | 1 | 40.00 | – | – | – | – | all | 12.3 |"
    with (tmp_path / "comparison.csv").open(encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["method"], first["n"], float(first["accuracy_mean"])) == ("disc", "2", 0.55)
    assert math.isclose(float(first["accuracy_sd"]), 0.1 / math.sqrt(2))
    assert second["accuracy_sd"] == second["auroc_mean"] == ""
    content = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert content["rows"][0]["mean"]["accuracy"] == pytest.approx(0.55)
    assert content["rows"][1]["sd"]["accuracy"] is None


def test_curves_are_drawn_for_any_set_of_runs(tmp_path: Path) -> None:
    run = [{"epoch": epoch, "accuracy": 0.1 * epoch, "auroc": None} for epoch in range(4)]
    for curves in ({"disc": [run, run[:2]]}, {"disc": [run]}, {"disc": []}):
        paths = draw(Report("t", [ROW], curves), tmp_path)
        assert [path.name for path in paths] == ["curves.png", "curves.svg"]
        assert all(path.stat().st_size > 1000 for path in paths)


def test_means_of_epochs_that_some_seeds_lack() -> None:
    run = [{"epoch": 0, "accuracy": 0.25}, {"epoch": 1, "accuracy": 0.5}]
    points = lond.plots._points([run, run[:1]], "accuracy")
    assert points == [(1, [25.0, 25.0]), (2, [50.0])]
    assert np.isfinite(points[0][1]).all()


def test_all_methods_are_measured_over_the_same_epochs(base: RunConfig, tmp_path: Path) -> None:
    """Epochs of warm-up do not count, so a method with a warm-up has fewer than one without."""
    longer = replace(base, train=replace(base.train, epochs=4, average_last=4))
    npn = with_method(longer, "npn-hard")
    npn = replace(npn, settings=replace(npn.settings, warmup_epochs=2))
    configs = {"standard": with_method(longer, "standard"), "npn-hard": npn}
    report = compare(plan(configs, [0], tmp_path / "c"), "t", runtime=ONE)
    assert {row.mean_over_last for row in report.rows} == {2}
    for row in report.rows:
        (records,) = report.curves[row.method]
        assert row.values["accuracy"] == [pytest.approx(sum(record["accuracy"] for record in records[2:]) / 2)]
