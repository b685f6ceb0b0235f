"""A threshold for small sets: by runs that did not learn from the images that it rests on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lond.config import RunConfig
from lond.data.sources import load
from lond.data.split import even_folds
from lond.errors import DataError
from lond.presets.changes import without_hold_out
from lond.presets.options import COMMAND_LINE, stages
from lond.runs import load_run, train_run
from lond.runs.out_of_fold import OUT_OF_FOLD, needs_folds, out_of_fold_calibration
from lond.train.runtime import RuntimeSettings
from lond.types import Prediction, Samples

ONE = RuntimeSettings("cpu", threads=1)


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Return 150 features of three classes, ten of them with a wrong label."""
    random, true = np.random.default_rng(0), np.arange(150) % 3
    labels = np.where(np.arange(150) < 10, (true + 1) % 3, true)
    embeddings = (random.normal(size=(150, 12)) + 5 * np.eye(3, 12)[true]).astype(np.float32)
    np.savez(tmp_path / "own.npz", embeddings=embeddings, labels=labels)
    return str(tmp_path / "own.npz")


def config_of(source: str, method: str = "") -> RunConfig:
    return stages(source, "", method)[COMMAND_LINE]


def test_a_small_set_gets_its_threshold_out_of_fold(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_run(config_of(source), tmp_path / "run", ONE, show_progress=False)
    found = load_run(tmp_path / "run").calibration
    assert found is not None and found.source == OUT_OF_FOLD and len(found.known_scores) > 120
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["threshold_from"], metrics["threshold_images"]) == (OUT_OF_FOLD, len(found.known_scores))
    # A finished run is only read: no part of the samples is trained on again.
    monkeypatch.setattr("lond.runs.training.out_of_fold_calibration", None)
    train_run(config_of(source), tmp_path / "run", ONE, show_progress=False)
    again = load_run(tmp_path / "run").calibration
    assert again is not None and again.threshold == found.threshold


def test_each_sample_is_scored_by_a_run_that_did_not_see_it(source: str) -> None:
    samples, learned = load(source), []

    class Run:
        def predict(self, part: Samples) -> Prediction:
            assert not {*part.ids} & {*learned[-1].ids} and len(part) + len(learned[-1]) == 150
            scores = torch.tensor([float(name) for name in part.ids])
            return Prediction(torch.eye(3)[part.labels], scores, torch.zeros(len(part), 1), torch.zeros(len(part), 3))

    def train(config: RunConfig, part: Samples) -> Any:
        assert config.data.hold_out == 0
        learned.append(part)
        return Run()

    found = out_of_fold_calibration(config_of(source), samples, 0.05, train, show_progress=False)
    assert found is not None and found.known_scores.tolist() == list(range(150)) and found.threshold == 143
    assert out_of_fold_calibration(config_of(source), samples, 0.001, train, show_progress=False) is None


def test_only_small_sets_of_quick_methods_are_divided(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config, samples = config_of(source), load(source)
    assert needs_folds(config, samples, None) and not needs_folds(config, samples, None, "knn")
    assert not needs_folds(config, samples, RuntimeSettings("cpu", devices=2))
    assert needs_folds(without_hold_out(config), samples, None)
    assert not needs_folds(config_of(source, "lond-drs"), samples, None)
    monkeypatch.setattr("lond.runs.out_of_fold.FEW_KNOWN", 14)
    assert not needs_folds(config, samples, None)
    monkeypatch.setattr("lond.runs.out_of_fold.FEW_KNOWN", 15)
    assert needs_folds(config, samples, None)
    monkeypatch.setattr("lond.runs.out_of_fold.MOST", 150)
    assert not needs_folds(config, samples, None)
    assert not needs_folds(config, samples.with_labels(torch.full((150,), -2), None), None)


def test_folds_are_even_in_every_class() -> None:
    labels = torch.tensor([0] * 10 + [1] * 15 + [-2] * 5)
    division = even_folds(labels, 5, seed=3)
    for label, each in ((0, 2), (1, 3), (-2, 1)):
        assert torch.bincount(division[labels == label], minlength=5).tolist() == [each] * 5
    assert not torch.equal(division, even_folds(labels, 5, seed=4))


def test_what_cannot_be_learned_from_has_no_threshold_of_this_kind(source: str) -> None:
    def train(config: RunConfig, part: Samples) -> Any:
        raise DataError("too few")

    assert out_of_fold_calibration(config_of(source), load(source), 0.05, train, show_progress=False) is None
