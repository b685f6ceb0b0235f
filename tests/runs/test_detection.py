"""All detectors on one run: whose scores they are, what they are fitted on, what is refused and what is written."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from methods.tiny import VIEWS, lond_settings, tiny_samples
from torch import Tensor, nn

from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.options import ReadOptions
from lond.data.pixels import ArrayPixels
from lond.data.split import take
from lond.detect import ALL_DETECTORS, DETECTORS
from lond.errors import ConfigError, DataError, MissingDependencyError
from lond.evaluate import auroc
from lond.methods import StandardSettings
from lond.runs import LoadedRun, load_data, load_run, train_run, train_samples
from lond.runs.data import divide
from lond.runs.detection import (
    DetectorResult,
    EvidenceReader,
    compare_detectors,
    detect_run,
    mixed_test_set,
    own_test_set,
)
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings
from lond.types import Samples

TWICE = tuple(name for name in ALL_DETECTORS if ALL_DETECTORS[name].fits_on == "training")


def config(source: str, method: str = "lond-drs", **data: Any) -> RunConfig:
    return RunConfig(
        data=DataSettings(source=source, read=ReadOptions(num_workers=0), **data),
        net=NetSettings(width=0.125),
        views=VIEWS,
        method=method,
        settings=lond_settings() if method == "lond-drs" else StandardSettings(hidden=16),
        optimiser=OptimiserSettings(learning_rate=0.05, constant_epochs=9),
        train=TrainSettings(epochs=3, batch_size=16, average_last=1, evaluation_batch=50),
    )


def noise(count: int, seed: int = 5, side: int = 16) -> np.ndarray:
    return np.random.RandomState(seed).randint(0, 255, (count, side, side)).astype(np.uint8)


def bands(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    samples = tiny_samples(count, seed=seed, side=16)
    assert isinstance(samples.pixels, ArrayPixels)
    return samples.pixels.images[:, 0].numpy(), samples.labels.numpy()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """90 images to train on, 9 of them mislabelled and 9 foreign; 45 to test on, 15 of them foreign, 2 unlabelled."""
    (images, labels), (test, test_labels) = bands(81), bands(30, seed=1)
    labels = labels.copy()
    labels[::9] = (labels[::9] + 1) % 3
    path = tmp_path_factory.mktemp("data") / "data.npz"
    np.savez(
        path,
        x_train=np.concatenate([images, noise(9)]),
        y_train=np.append(labels, np.arange(9) % 3),
        x_test=np.concatenate([test, noise(17, seed=6)]),
        y_test=np.concatenate([test_labels, [-1] * 15, [-2] * 2]),
        class_names=np.array(["ant", "bee", "cow"]),
    )
    return str(path)


@pytest.fixture(scope="module")
def folders(source: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One run a method; the first one holds a fifth of the samples out."""
    root = tmp_path_factory.mktemp("runs")
    train_run(config(source, hold_out=0.2), root / "lond-drs")
    train_run(config(source, "standard"), root / "standard")
    return {name: root / name for name in ("lond-drs", "standard")}


Opened = tuple[LoadedRun, Samples, list[Samples], Tensor]


def opened(folder: Path) -> Opened:
    run = load_run(folder)
    training, test, _ = load_data(run.config)
    assert test is not None
    return run, divide(run.config, training).learned_from, *own_test_set(run.read(test))


@pytest.fixture(scope="module")
def lond_run(folders: dict[str, Path]) -> Opened:
    return opened(folders["lond-drs"])


@pytest.fixture(scope="module")
def standard_run(folders: dict[str, Path]) -> Opened:
    return opened(folders["standard"])


def by_name(results: list[DetectorResult]) -> dict[tuple[str, str], DetectorResult]:
    return {(result.name, result.fitted_on): result for result in results}


# Test sets


def test_two_sources_make_one_test_set() -> None:
    known, foreign = tiny_samples(4), tiny_samples(3)
    sets, marks = mixed_test_set(known, foreign)
    assert sets == [known, foreign]
    assert marks.tolist() == [False] * 4 + [True] * 3


def test_unlabelled_test_images_count_on_neither_side() -> None:
    test = tiny_samples(6, labels=torch.tensor([0, -2, -1, 1, -2, -1]), truth=False)
    (kept,), marks = own_test_set(test)
    assert kept.ids == ("000", "002", "003", "005")
    assert marks.tolist() == [False, True, False, True]
    whole = tiny_samples(3, labels=torch.tensor([0, -1, 1]), truth=False)
    assert own_test_set(whole)[0] == [whole]


@pytest.mark.parametrize("labels", [[0, 1, 2], [-1, -1, -1], [-1, -2, -2], [0, -2, 1]])
def test_a_test_set_of_one_kind_is_refused(labels: list[int]) -> None:
    with pytest.raises(DataError, match="give --known and --foreign"):
        own_test_set(tiny_samples(3, labels=torch.tensor(labels), truth=False))


# Whose scores


def test_all_detectors_that_suit_the_network(lond_run: Opened, standard_run: Opened) -> None:
    for run, left_out in ((lond_run, set()), (standard_run, {"open-world"})):
        results = compare_detectors(*run)
        expected = [name for name in ALL_DETECTORS if name not in left_out for _ in range(1 + (name in TWICE))]
        assert [result.name for result in results] == expected
        for result in results:
            assert result.seconds >= 0
            if result.problem:
                assert all(math.isnan(value) for value in result.figures.values())
                continue
            assert len(result.scores) == len(run[3]) == 45
            assert result.scores.isfinite().all()
            assert result.scores.device.type == "cpu"
            assert result.figures["auroc"] == auroc(result.scores, run[3])
            assert all(0 <= value <= 1 for value in result.figures.values())


def test_open_world_is_the_score_of_lond_drs(lond_run: Opened) -> None:
    run, _, (test,), _ = lond_run
    (result,) = compare_detectors(*lond_run, names=["open-world"])
    assert torch.allclose(result.scores, run.predict(test).scores, atol=1e-6)
    assert result.fitted_on == "-"


def test_msp_is_the_score_of_standard(standard_run: Opened) -> None:
    run, _, (test,), _ = standard_run
    (result,) = compare_detectors(*standard_run, names=["msp"])
    assert torch.allclose(result.scores, run.predict(test).scores, atol=1e-6)


def test_several_sets_are_scored_in_order(lond_run: Opened) -> None:
    run, training, (test,), marks = lond_run
    other = run.read((bands(7, seed=3)[0], np.arange(7) % 3))
    names = ["msp", "rankfeat", "knn"]
    both = compare_detectors(run, training, [other, test], torch.cat([torch.ones(7, dtype=torch.bool), marks]), names)
    for whole, part in zip(both, compare_detectors(run, training, [test], marks, names), strict=True):
        assert torch.allclose(whole.scores[7:], part.scores, atol=1e-5)


def test_the_batch_size_does_not_matter(lond_run: Opened) -> None:
    run = lond_run[0]
    small = replace(run, config=replace(run.config, train=replace(run.config.train, evaluation_batch=7)))
    names = ["mls", "knn", "rankfeat", "ngc-prototype"]
    first, second = compare_detectors(*lond_run, names=names), compare_detectors(small, *lond_run[1:], names=names)
    for one, other in zip(first, second, strict=True):
        assert torch.allclose(one.scores, other.scores, atol=1e-4, rtol=1e-4)


def test_comparing_leaves_the_run_as_it_was(lond_run: Opened) -> None:
    run, _, (test,), _ = lond_run
    before = run.predict(test)
    compare_detectors(*lond_run, names=["react", "rankfeat"])
    assert torch.equal(run.predict(test).scores, before.scores)


# Fitted on what


def test_all_and_clean_are_different_fits(lond_run: Opened) -> None:
    run, training, _, _ = lond_run
    partition = run.method.partition
    assert partition is not None
    # The samples that were held out, a fifth of every class rounded down, are in neither.
    assert len(partition.clean) == len(training) == 73
    assert 0 < int(partition.clean.sum()) < len(training)
    results = by_name(compare_detectors(*lond_run, names=list(TWICE)))
    assert set(results) == {(name, fit) for name in TWICE for fit in ("all", "clean")}
    for name in TWICE:
        everything, clean = results[name, "all"], results[name, "clean"]
        # DICE keeps the largest entries, SHE samples whose label is predicted, NNGuide the nearest and surest ones:
        # they may be the same in both.
        if name not in ("dice", "she", "nnguide") and not (everything.problem or clean.problem):
            assert not torch.allclose(everything.scores, clean.scores)


def test_the_temperature_is_fitted_on_images_that_were_held_out(folders: dict[str, Path], tmp_path: Path) -> None:
    """A fifth of the images was held out of the first run; the other one trained on all."""
    run = load_run(folders["lond-drs"])
    training, test, _ = load_data(run.config)
    assert test is not None
    held = take(training, divide(run.config, training).held)
    assert 0 < len(held) < 20
    extractor = EvidenceReader(run)
    fitted = DETECTORS["temp-scaling"]().fit_features(extractor.evidence(held))
    expected = fitted.score_features(extractor.evidence(own_test_set(run.read(test))[0][0]))
    results = by_name(detect_run(folders["lond-drs"], "", "", "", ["temp-scaling", "react"], tmp_path / "held"))
    assert set(results) == {("own", "-"), ("temp-scaling", "held-out"), ("react", "clean")}
    torch.testing.assert_close(results["temp-scaling", "held-out"].scores, expected)
    trained = by_name(detect_run(folders["standard"], "", "", "", ["temp-scaling"], tmp_path / "all"))
    assert set(trained) == {("own", "-"), ("temp-scaling", "all")}


def test_clean_means_what_the_method_judged_clean(lond_run: Opened) -> None:
    run, training, (test,), _ = lond_run
    partition = run.method.partition
    assert partition is not None
    extractor = EvidenceReader(run)
    fit, evidence = extractor.evidence(training), extractor.evidence(test)
    assert torch.equal(fit.labels, training.labels)
    assert fit.features is not None
    labels = training.labels.clone()
    labels[~partition.clean.cpu()] = -2
    expected = DETECTORS["mds"]().fit_features(replace(fit, labels=labels)).score_features(evidence)
    results = by_name(compare_detectors(*lond_run, names=["mds"]))
    assert torch.allclose(results["mds", "clean"].scores, expected)


def test_a_detector_that_cannot_be_fitted_is_a_row_with_its_reason(
    lond_run: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, evidence: object) -> None:
        raise DataError("nothing to hold on to")

    monkeypatch.setattr("lond.detect.MDS.fit_features", refuse)
    results = by_name(compare_detectors(*lond_run, names=["mds", "msp"]))
    assert results["mds", "clean"].problem == "nothing to hold on to"
    assert math.isnan(results["mds", "clean"].figures["auroc"])
    assert not results["msp", "-"].problem


# Networks that cannot be opened


def test_a_module_of_ones_own_is_compared_without_rankfeat() -> None:
    module = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten())
    samples, test = tiny_samples(48, side=16), tiny_samples(20, labels=torch.arange(20) % 2 - 1, truth=False, side=16)
    settings = replace(config("", "standard"), net=NetSettings("module:Sequential"))
    run = train_samples(settings, samples, backbone=module).run
    results = compare_detectors(run, samples, *own_test_set(test))
    assert {result.name for result in results} == set(ALL_DETECTORS) - {"rankfeat", "open-world"}
    with pytest.raises(ConfigError, match="rankfeat does not suit the run"):
        compare_detectors(run, samples, *own_test_set(test), names=["msp", "rankfeat"])


def test_open_world_needs_prototypes(standard_run: Opened) -> None:
    with pytest.raises(ConfigError, match="open-world does not suit the run: its network has no prototypes"):
        compare_detectors(*standard_run, names=["open-world"])


# From a folder


def test_a_folder_gets_a_table_and_figures(folders: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "new" / "detect"
    results = detect_run(folders["lond-drs"], "", "", "", ["msp", "knn"], target)
    files = ["detectors.json", "histograms.png", "histograms.svg", "roc.png", "roc.svg"]
    assert sorted(path.name for path in target.iterdir()) == files
    assert all(path.stat().st_size > 0 for path in target.iterdir())
    content = json.loads((target / "detectors.json").read_text())
    assert (content["run"], content["method"]) == ("lond-drs", "lond-drs")
    assert (content["known"], content["foreign"]) == (30, 15)
    assert [part["images"] for part in content["test"]] == [45]
    assert [(row["name"], row["fitted_on"]) for row in content["detectors"]] == [
        ("msp", "-"),
        ("knn", "all"),
        ("knn", "clean"),
    ]
    assert results[0].name == "own" and content["own_score"]["auroc"] == results[0].figures["auroc"]
    for row, result in zip(content["detectors"], results[1:], strict=True):
        assert row["auroc"] == result.figures["auroc"]
        assert row["seconds"] >= 0


def test_sources_of_ones_own(folders: dict[str, Path], tmp_path: Path) -> None:
    np.savez(tmp_path / "known.npz", x=bands(12, seed=8)[0])
    np.savez(tmp_path / "foreign.npz", x=noise(9, seed=9))
    known, foreign = str(tmp_path / "known.npz"), str(tmp_path / "foreign.npz")
    detect_run(folders["standard"], known, foreign, "", ["msp"], tmp_path / "out")
    content = json.loads((tmp_path / "out" / "detectors.json").read_text())
    assert (content["known"], content["foreign"]) == (12, 9)


def test_a_source_without_images_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    np.savez(tmp_path / "known.npz", x=bands(12, seed=8)[0])
    np.savez(tmp_path / "none.npz", x=noise(0))
    known, none = str(tmp_path / "known.npz"), str(tmp_path / "none.npz")
    for sources in ((known, none), (none, known)):
        with pytest.raises(DataError, match=r"none\.npz holds no images"):
            detect_run(folders["standard"], *sources, "", ["msp"], tmp_path / "out")


def test_no_figure_is_drawn_of_nothing(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, evidence: object) -> None:
        raise DataError("nothing to hold on to")

    monkeypatch.setattr("lond.detect.MDS.fit_features", refuse)
    detect_run(folders["standard"], "", "", "", ["mds"], tmp_path / "out")
    (first, _) = json.loads((tmp_path / "out" / "detectors.json").read_text())["detectors"]
    assert (first["auroc"], first["problem"]) == (None, "nothing to hold on to")


def test_changed_training_data_are_refused(tmp_path: Path) -> None:
    images, labels = bands(36)
    path = tmp_path / "data.npz"
    test = {"x_test": np.concatenate([images[:6], noise(6)]), "y_test": np.array([0, 1, 2] * 2 + [-1] * 6)}
    np.savez(path, x_train=images, y_train=labels, **test)
    train_run(config(str(path), "standard"), tmp_path / "run")
    np.savez(path, x_train=images, y_train=np.roll(labels, 1), **test)
    with pytest.raises(DataError, match="has changed since the run was trained"):
        detect_run(tmp_path / "run", "", "", "", ["knn"], tmp_path / "out")
    np.savez(path, x_train=images[:-3], y_train=labels[:-3], **test)
    with pytest.raises(DataError, match="has changed since the run was trained"):
        detect_run(tmp_path / "run", "", "", "", ["knn"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_without_foreign_test_images_needs_sources(tmp_path: Path) -> None:
    images, labels = bands(24)
    np.savez(tmp_path / "bare.npz", x=images, y=labels)
    np.savez(tmp_path / "known.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    for name, message in (("bare", "trained without test data"), ("known", "does not hold both known and foreign")):
        train_run(config(str(tmp_path / f"{name}.npz"), "standard"), tmp_path / name)
        with pytest.raises(DataError, match=message):
            detect_run(tmp_path / name, "", "", "", None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_told_before_the_work(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("lond.runs.detection.compare_detectors", None)
    with pytest.raises(MissingDependencyError, match=r"lond\[plots\]"):
        detect_run(folders["standard"], "", "", "", None, tmp_path / "out")
    assert not (tmp_path / "out").exists()
