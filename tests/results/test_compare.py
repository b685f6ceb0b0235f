"""Several methods side by side: trained once, gathered, written, drawn."""

from __future__ import annotations

import csv
import json
import math
import shutil
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from methods.tiny import write_npz
from results.run_samples import small, write_run

import lond.results.jobs
from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.options import ReadOptions
from lond.data.views import ViewSettings
from lond.errors import CollapseError, ConfigError
from lond.presets.scaling import with_method
from lond.results import Group, Record, read, record_of
from lond.results.compare import COMPARED, Comparison, compare, draw, write_tables
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


def values_of(found: Comparison, metric: str = "accuracy") -> dict[str, list[float | None]]:
    """Return the values of the runs by method."""
    return {one.key["method"]: [record.value(metric) for record in one.records] for one in found.groups}


def test_every_method_and_seed_is_trained_once(
    base: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    jobs = jobs_of(base, tmp_path / "c")
    found = compare(jobs, "stripes", tmp_path / "store", runtime=ONE, say=said.append)
    assert said[0] == "4 runs, 0 finished before"
    assert said[-1].startswith("[4/4] smooth, seed 1: accuracy ")
    for one in found.groups:
        folders = [tmp_path / "c" / f"{one.key['method']}-seed{seed}" for seed in (0, 1)]
        accuracies = [json.loads((run / "metrics.json").read_text())["metrics"]["accuracy"] for run in folders]
        assert values_of(found)[one.key["method"]] == accuracies
        assert one.summary("accuracy").mean == pytest.approx(sum(accuracies) / 2)
        assert one.summary("accuracy").deviation == pytest.approx(statistics.stdev(accuracies))
        assert one.summary("auroc").mean is None
    first, second = (one.summary("accuracy").mean or 0.0 for one in found.groups)
    assert first >= second and len(read(tmp_path / "store")) == 4
    # The second time nothing is trained, be it that the folders are there or the store alone.
    monkeypatch.setattr(lond.results.jobs, "train_run", lambda *_, **__: pytest.fail("trained again"))
    again = compare(jobs_of(base, tmp_path / "c"), "stripes", tmp_path / "store", say=said.append)
    assert said[-1] == "4 runs, 4 finished before"
    assert again == found
    again = compare(jobs_of(base, tmp_path / "c"), "stripes", tmp_path / "other", say=said.append)
    assert again == found
    shutil.rmtree(tmp_path / "c")
    assert compare(jobs_of(base, tmp_path / "c"), "stripes", tmp_path / "store") == found


def test_a_stored_run_on_other_data_is_trained_again(base: RunConfig, tmp_path: Path) -> None:
    compare(jobs_of(base, tmp_path / "c", (0,))[:1], "t", tmp_path / "store", runtime=ONE)
    shutil.rmtree(tmp_path / "c")
    write_npz(tmp_path / "train.npz", 51)
    said: list[str] = []
    compare(jobs_of(base, tmp_path / "c", (0,))[:1], "t", tmp_path / "store", runtime=ONE, say=said.append)
    assert said[0] == "1 runs, 0 finished before"
    assert {record.fingerprint["train"].images for record in read(tmp_path / "store")} == {48, 51}


def test_two_at_a_time_give_the_same(base: RunConfig, tmp_path: Path) -> None:
    alone = compare(jobs_of(base, tmp_path / "a", (0,)), "t", tmp_path / "one", runtime=ONE)
    said: list[str] = []
    jobs = jobs_of(base, tmp_path / "b", (0,))
    together = compare(jobs, "t", tmp_path / "two", runtime=ONE, workers=2, say=said.append)
    assert values_of(alone) == values_of(together)
    # Which one ends first is chance.
    assert [line[:5] for line in said] == ["2 run", "[1/2]", "[2/2]"]
    assert {line[6:].split(": accuracy ")[0] for line in said[1:]} == {"standard, seed 0", "smooth, seed 0"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_warning_names_the_run_it_comes_from(base: RunConfig, tmp_path: Path, workers: int) -> None:
    mix = with_method(base, "dividemix")
    # Posteriors are of single precision, in which the threshold is 1 and nothing lies above it.
    mix = replace(mix, settings=replace(mix.settings, warmup_epochs=1, clean_threshold=1 - 1e-12))
    jobs = plan({"dividemix": mix}, [0, 1], tmp_path / "c")
    with pytest.warns(UserWarning, match="judged clean") as told:
        found = compare(jobs, "t", tmp_path / "store", runtime=ONE, workers=workers)
    assert found.groups[0].n == 2
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
    found = compare(jobs_of(base, tmp_path / "c", (0,)), "t", tmp_path / "store", runtime=ONE)
    good, bad = found.groups
    assert (good.key["method"], good.n, bad.n) == ("standard", 1, 0)
    assert found.problems == {"smooth, seed 0": told}
    assert found.table.texts()[1][3:] == ["all", "0"] + ["–"] * (len(COMPARED) + 1)
    text = write_tables(found, tmp_path / "c")[2].read_text(encoding="utf-8")
    assert text.endswith(f"\nsmooth, seed 0: {told}\n")
    assert draw(found, tmp_path / "c")


def test_settings_and_data_are_checked_before_any_work(base: RunConfig, tmp_path: Path) -> None:
    jobs = jobs_of(base, tmp_path / "c", (0,))
    compare(jobs, "t", tmp_path / "store", runtime=ONE)
    longer = replace(base, train=replace(base.train, epochs=3))
    with pytest.raises(ConfigError, match=r"train\.epochs"):
        jobs_of(longer, tmp_path / "c", (0, 1))
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"standard-seed0", "smooth-seed0"}
    write_npz(tmp_path / "train.npz", 51)
    with pytest.raises(ConfigError, match="other data"):
        compare(jobs_of(base, tmp_path / "c", (0, 1)), "t", tmp_path / "store", runtime=ONE)
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"standard-seed0", "smooth-seed0"}


def test_methods_on_different_data_are_refused(base: RunConfig, tmp_path: Path) -> None:
    other = replace(base, data=replace(base.data, hold_out=0.25))
    configs = {"standard": with_method(base, "standard"), "other": with_method(other, "standard")}
    with pytest.raises(ConfigError, match="on the same data"):
        compare(plan(configs, [0], tmp_path / "c"), "t", tmp_path / "store", runtime=ONE)
    assert not (tmp_path / "c").exists()


def test_no_test_data_is_refused(base: RunConfig, tmp_path: Path) -> None:
    alone = replace(base, data=replace(base.data, test_source=""))
    with pytest.raises(ConfigError, match="needs labelled test data"):
        compare(jobs_of(alone, tmp_path / "c"), "t", tmp_path / "store")
    assert not (tmp_path / "c").exists()


def test_a_place_where_no_folder_can_be_made_is_refused(base: RunConfig, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no folder")
    with pytest.raises(ConfigError, match="is a file, not a folder"):
        jobs_of(base, tmp_path / "notes.txt")
    jobs = jobs_of(base, tmp_path / "notes.txt" / "c")
    with pytest.raises(NotADirectoryError, match="notes.txt"):
        compare(jobs, "t", tmp_path / "store", runtime=ONE)


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    """Two seeds of 49 % and 59 %, three epochs after warm-up."""
    runs = [write_run(tmp_path / f"run{seed}", small(seed=seed), accuracy=0.5 + 0.1 * seed) for seed in (0, 1)]
    return [record_of(run) for run in runs]


def test_tables_by_hand(records: list[Record], tmp_path: Path) -> None:
    key = {"method": "disc", "epochs": 6, "batch_size": 128, "steps_a_phase": 20}
    lacking = replace(records[0], metrics={"accuracy": 0.4}, verdicts={})
    groups = (Group(key, tuple(records)), Group(key | {"method": "sed", "steps_a_phase": "all"}, (lacking,)))
    found = Comparison("mini", groups, {"sed, seed 1": "no memory"})
    paths = write_tables(found, tmp_path)
    lines = paths[2].read_text(encoding="utf-8").splitlines()
    assert lines[0] == "**mini**, means over the last 3 epochs"
    assert lines[2] == (
        "| method | epochs | batch size | steps a phase | n | accuracy | AUROC | FPR95 | F1 mislabelled | F1 foreign "
        "| seconds an epoch |"
    )
    both = "54.00 ± 7.07 | 60.00 ± 0.00 | 90.00 ± 0.00 | – | 25.00 ± 0.00 | 2.75 ± 0"
    assert lines[4] == f"| disc | 6 | 128 | 20 | 2 | {both} |"
    assert lines[5] == "| sed | 6 | 128 | all | 1 | 40.00 | – | – | – | – | 2.75 |"
    assert lines[-1] == "sed, seed 1: no memory"
    with paths[1].open(encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["method"], first["n"], float(first["accuracy_mean"])) == ("disc", "2", 0.54)
    assert math.isclose(float(first["accuracy_sd"]), 0.1 / math.sqrt(2))
    assert second["accuracy_sd"] == second["auroc_mean"] == ""
    content = json.loads(paths[0].read_text(encoding="utf-8"))
    assert content["rows"][0]["accuracy_mean"] == pytest.approx(0.54)
    assert content["rows"][1]["accuracy_sd"] is None
    assert [run["accuracy"] for run in content["runs"]] == [0.49, 0.59, 0.4]
    assert content["problems"] == {"sed, seed 1": "no memory"}


def test_curves_are_drawn_for_any_set_of_runs(records: list[Record], tmp_path: Path) -> None:
    for runs in (records, [records[0], replace(records[1], curves={})], []):
        paths = draw(Comparison("t", (Group({"method": "disc"}, tuple(runs)),), {}), tmp_path)
        assert [path.name for path in paths] == ["curves.png", "curves.svg"]
        assert all(path.stat().st_size > 1000 for path in paths)


def test_all_methods_are_measured_over_the_same_epochs(base: RunConfig, tmp_path: Path) -> None:
    """Epochs of warm-up do not count, so a method with a warm-up has fewer than one without."""
    longer = replace(base, train=replace(base.train, epochs=4, average_last=4))
    npn = with_method(longer, "npn-hard")
    npn = replace(npn, settings=replace(npn.settings, warmup_epochs=2))
    configs = {"standard": with_method(longer, "standard"), "npn-hard": npn}
    found = compare(plan(configs, [0], tmp_path / "c"), "t", tmp_path / "store", runtime=ONE)
    assert found.mean_over_last == 2
    assert {record.mean_over_last for record in read(tmp_path / "store")} == {2, 4}
    for one in found.groups:
        (record,) = one.records
        last = [value or 0.0 for value in record.curves["accuracy"][2:]]
        assert record.metrics["accuracy"] == pytest.approx(sum(last) / 2, abs=1e-6)
