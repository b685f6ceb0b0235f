"""`lond results` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from results.run_samples import small, write_run

from lond.results import read

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two seeds of LOND-DRS and one of cross-entropy."""
    return [
        write_run(tmp_path / "lond0", small(seed=0), accuracy=0.5, detectors=True),
        write_run(tmp_path / "lond1", small(seed=1), accuracy=0.6),
        write_run(tmp_path / "standard0", small(method="standard"), accuracy=0.4),
    ]


@pytest.fixture
def store(tmp_path: Path, runs: list[Path], lond: Call) -> Path:
    folder = tmp_path / "store"
    code, out, _ = lond("results", "add", *runs, "--store", folder, "--threads", 1, "--scale", "mini")
    assert code == 0
    assert out.count("new: ") == 3
    return folder


def test_adding(store: Path, runs: list[Path], lond: Call) -> None:
    assert {record.machine.threads for record in read(store)} == {1}
    assert {record.scale for record in read(store)} == {"mini"}
    code, out, _ = lond("results", "add", runs[0], "--store", store, "--scale", "mini", "--device", "cpu")
    assert code == 0
    assert "completed: " in out
    write_run(runs[0], small(seed=0), accuracy=0.9)
    code, out, error = lond("results", "add", *runs, "--store", store, "--scale", "mini")
    assert code == 2
    assert out.count("kept: ") == 2
    assert "accuracy: 0.49 -> 0.89" in error
    assert "1 of 3 runs were not stored" in error
    code, out, _ = lond("results", "add", runs[0], "--store", store, "--scale", "mini", "--replace")
    assert code == 0
    assert "replaced: " in out


def test_data_are_called_as_told(tmp_path: Path, runs: list[Path], lond: Call) -> None:
    assert lond("results", "add", runs[0], "--store", tmp_path / "store", "--data", "tiny80")[0] == 0
    assert [record.data for record in read(tmp_path / "store")] == ["tiny80"]


def test_the_default_store(runs: list[Path], lond: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert lond("results", "add", runs[0])[0] == 0
    assert len(read("results/store")) == 1
    assert "mini80-sym50-lond-drs-seed0" in lond("results")[1]


def test_the_list(store: Path, lond: Call) -> None:
    code, out, _ = lond("results", store)
    assert code == 0
    for text in ("mini80-sym50-lond-drs-seed0-", "mini80-sym50-standard-seed0-", "49.00", "AUROC", "train.epochs=6"):
        assert text in out
    # The name tells the method; nothing is known of the time.
    assert "finished" not in out
    assert lond("results", "--store", store)[1] == out


def test_filters(store: Path, lond: Call) -> None:
    def names(*options: object) -> list[str]:
        code, out, _ = lond("results", store, "--format", "json", *options)
        assert code == 0
        return [f"{row['method']}{row['seed']}" for row in json.loads(out)]

    assert names() == ["lond-drs0", "lond-drs1", "standard0"]
    assert names("--method", "lond-drs") == ["lond-drs0", "lond-drs1"]
    assert names("--method", "lond-drs,standard", "--seed", "0") == ["lond-drs0", "standard0"]
    assert names("--data", "mini80", "--noise", "sym50", "--scale", "mini") == names()
    code, _, error = lond("results", store, "--method", "sed", "--seed", 7)
    assert code == 2
    assert "no record fits all that is asked; the store holds method: lond-drs, standard; seed: 0, 1" in error


def test_groups_in_every_format(store: Path, lond: Call) -> None:
    arguments = ["results", store, "--by", "method,data,noise", "--metrics", "accuracy,msp.auroc"]
    code, out, error = lond(*arguments)
    assert (code, error) == (0, "")
    assert "54.00 ± 7.07" in out
    assert "70.00 (n=1)" in out
    assert "accuracy_mean,accuracy_sd,accuracy_n" in lond(*arguments, "--format", "csv")[1]
    assert "| lond-drs | mini80 | sym50 | 2 | 54.00 ± 7.07 |" in lond(*arguments, "--format", "markdown")[1]
    assert r"54.00 $\pm$ 7.07" in lond(*arguments, "--format", "latex")[1]
    assert json.loads(lond(*arguments, "--format", "json")[1])[0]["accuracy_n"] == 2


def test_a_mean_over_other_settings_is_noted(store: Path, lond: Call, tmp_path: Path) -> None:
    run = write_run(tmp_path / "batch", small(seed=3, batch_size=64))
    assert lond("results", "add", run, "--store", store, "--scale", "mini")[0] == 0
    code, out, error = lond("results", store, "--by", "method", "--method", "lond-drs", "--format", "csv")
    assert code == 0
    assert out.count("\n") == 2
    assert "note: the runs of lond-drs differ in train.batch_size; add changes to --by" in error


def test_two_records(store: Path, lond: Call) -> None:
    first, second = (record.name for record in read(store)[:2])
    code, out, _ = lond("results", store, "--compare", first, second)
    assert code == 0
    assert "train.seed" in out
    assert "49.00" in out
    assert "no differences" in lond("results", store, "--compare", first, first)[1]
    rows = json.loads(lond("results", store, "--compare", first, second, "--format", "json")[1])
    assert {row["key"] for row in rows} >= {"train.seed", "accuracy"}
    code, _, error = lond("results", store, "--compare", first, "nobody")
    assert code == 2
    assert "no record 'nobody'" in error


def test_damaged_files_are_noted(store: Path, lond: Call) -> None:
    (store / "broken.json").write_text("{")
    code, out, error = lond("results", store)
    assert code == 0
    assert "mini80-sym50-standard-seed0-" in out
    assert "broken.json is left out: damaged" in error


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["{missing}"], "there is no results store"),
        (["{empty}"], "holds no records; store finished runs with: lond results add"),
        (["{store}", "--by", "weather"], "cannot be grouped by 'weather'"),
        (["{store}", "--format", "pdf"], "no format 'pdf'; choose one of: table, csv"),
        (["{store}", "--figures", "acuracy"], "no run has a metric 'acuracy'; there are, for example: accuracy"),
        (["{store}", "--seed", "one"], "--seed needs whole numbers"),
        (["{store}", "{empty}"], "name one store"),
        (["{store}", "--store", "{empty}"], "name one store"),
        (["{store}", "--replace"], "go with: lond results add"),
        (["{store}", "--compare", "a", "b", "--by", "method"], "leave out --by"),
        (["add"], "name the run folders"),
        (["add", "{empty}", "--method", "sed"], "not about add"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], named: str, tmp_path: Path, store: Path, lond: Call
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"missing": tmp_path / "missing", "empty": tmp_path / "empty", "store": store}
    code, _, error = lond("results", *(text.format(**places) for text in arguments))
    assert code == 2
    assert named in error
    assert len(error.strip().splitlines()) == 1


def test_a_run_that_is_not_finished(tmp_path: Path, lond: Call) -> None:
    code, _, error = lond("results", "add", tmp_path, "--store", tmp_path / "store")
    assert code == 2
    assert "holds no finished run" in error
    assert not (tmp_path / "store").exists()
