"""Runs on features of a frozen network: data, training, resuming, new images, detectors."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from audit.audit_samples import PoolFeatures, write_folder
from PIL import Image

import lond.frozen.read
from lond.config import DataSettings, NetSettings, RunConfig, run_config_from_dict, to_dict
from lond.data.feature_views import FeaturePixels
from lond.data.options import ReadOptions
from lond.data.sources import load
from lond.data.split import take
from lond.errors import ConfigError
from lond.frozen.samples import FrozenSettings
from lond.presets.benchmarks import preset
from lond.presets.features import on_frozen
from lond.runs import load_data, load_run, prediction_rows, train_run
from lond.runs.data import divide
from lond.runs.detection import compare_detectors, own_test_set
from lond.train.checkpoint import load_state, same_state
from lond.train.loop import Trainer
from lond.train.runtime import RuntimeSettings
from lond.train.state import CHECKPOINT

CPU = RuntimeSettings("cpu", threads=1)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lond.frozen.read, "Extractor", PoolFeatures)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training and test images in class folders; one file to train on cannot be read, one test class is unknown."""
    root = tmp_path_factory.mktemp("images")
    write_folder(root / "train", each=30, foreign=6, wrong=3)
    write_folder(root / "test", each=8, foreign=0, wrong=0)
    (root / "train" / "red" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    (root / "test" / "yellow").mkdir()
    for index in range(8):
        Image.new("RGB", (16, 16), (200 + index, 210, 30)).save(root / "test" / "yellow" / f"{index}.png")
    return root


def config(source: Path | str, cache: Path, method: str = "lond-drs", **data: object) -> RunConfig:
    settings = DataSettings(
        source=str(source),
        read=ReadOptions(size=16, num_workers=0),
        frozen=FrozenSettings("efficientnet-lite0", size=16, cache=str(cache)),
    )
    start = replace(preset("digits", method), data=replace(settings, **data))  # type: ignore[arg-type]
    return on_frozen(start, epochs=6)


@pytest.fixture(scope="module")
def trained(images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunConfig]:
    root = tmp_path_factory.mktemp("run")
    asked = config(images, root / "cache", hold_out=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lond.frozen.read, "Extractor", PoolFeatures)
        train_run(asked, root / "run", CPU)
    return root / "run", asked


# Data


def test_a_folder_becomes_features(images: Path, tmp_path: Path) -> None:
    train, test, noise = load_data(config(images, tmp_path / "cache"), CPU)
    assert test is not None
    assert (train.pixels.channels, train.pixels.size) == (test.pixels.channels, test.pixels.size) == (2, (1, 48))
    assert (len(train), len(test)) == (96, 32)
    assert [problem.id for problem in train.problems] == ["train/red/bad.png"]
    assert (test.labels == -1).sum() == 8
    assert noise == {"noise": "the data's own; rates unknown"}


def test_a_benchmark_becomes_features_with_its_labels(tmp_path: Path) -> None:
    plain = preset("digits")
    frozen = on_frozen(
        replace(plain, data=replace(plain.data, frozen=FrozenSettings("any", size=16, cache=str(tmp_path / "cache"))))
    )
    assert frozen.data.frozen.backbone == "any"
    with_pixels, with_features = load_data(plain), load_data(frozen, CPU)
    for before, after in zip(with_pixels[:2], with_features[:2], strict=True):
        assert before is not None and after is not None
        assert torch.equal(before.labels, after.labels)
        assert torch.equal(before.true_labels, after.true_labels)
        assert (before.ids, before.class_names) == (after.ids, after.class_names)
        assert isinstance(after.pixels, FeaturePixels)
    assert with_pixels[2] == with_features[2]


def test_nothing_is_computed_twice(images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = config(images, tmp_path / "cache")
    first, _, _ = load_data(asked, CPU)
    seen: list[int] = []

    class Counting(PoolFeatures):
        def __call__(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(len(images))
            return super().__call__(images)

    monkeypatch.setattr(lond.frozen.read, "Extractor", Counting)
    again, _, _ = load_data(asked, CPU)
    assert not seen
    assert isinstance(first.pixels, FeaturePixels) and isinstance(again.pixels, FeaturePixels)
    assert np.array_equal(first.pixels.values, again.pixels.values)


def test_features_of_ones_own_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "features.npz", embeddings=np.random.rand(30, 8), y=np.arange(30) % 3)
    start = replace(preset("digits"), data=DataSettings(source=str(tmp_path / "features.npz")))
    with pytest.raises(ConfigError, match="holds features already"):
        on_frozen(start)
    asked = replace(start.data, frozen=FrozenSettings("efficientnet-lite0", cache=str(tmp_path)))
    with pytest.raises(ConfigError, match="holds features already"):
        load_data(replace(start, data=asked))


def test_a_network_for_images_is_refused(images: Path, tmp_path: Path) -> None:
    asked = replace(config(images, tmp_path / "cache"), net=NetSettings())
    with pytest.raises(ConfigError, match=r"net\.backbone=features"):
        train_run(asked, tmp_path / "run", CPU)


# Training


def test_a_run_learns_and_its_folder_says_from_what(trained: tuple[Path, RunConfig]) -> None:
    folder, asked = trained
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]
    assert metrics["accuracy"] > 0.9
    assert metrics["auroc"] > 0.8
    content = json.loads((folder / "config.json").read_text())
    assert content["data"]["frozen"]["backbone"] == "efficientnet-lite0"
    assert run_config_from_dict(content) == asked
    assert json.loads((folder / "manifest.json").read_text())["size"] == [1, 48]
    assert len((folder / "verdicts.csv").read_text().splitlines()) == 97


def test_a_run_that_was_cut_ends_the_same_with_another_cache(
    trained: tuple[Path, RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = trained
    train_one = Trainer._epoch

    def cut(self: Trainer, epoch: int, bar: object) -> dict[str, object]:
        if epoch == 4:
            raise KeyboardInterrupt
        return train_one(self, epoch, bar)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_epoch", cut)
        with pytest.raises(KeyboardInterrupt):
            train_run(asked, tmp_path / "run", CPU)
    elsewhere = replace(asked.data, frozen=replace(asked.data.frozen, cache=str(tmp_path / "other cache")))
    train_run(replace(asked, data=elsewhere), tmp_path / "run", CPU)
    states = [load_state(path / CHECKPOINT) for path in (folder, tmp_path / "run")]
    assert same_state(states[0]["method"], states[1]["method"])
    assert (folder / "verdicts.csv").read_bytes() == (tmp_path / "run" / "verdicts.csv").read_bytes()


def test_another_network_is_another_run(trained: tuple[Path, RunConfig]) -> None:
    folder, asked = trained
    other = replace(asked.data, frozen=replace(asked.data.frozen, size=32))
    with pytest.raises(ConfigError, match=r"other settings \(data\.frozen\.size\)"):
        train_run(replace(asked, data=other), folder, CPU)


def test_rounding_of_features_does_not_make_other_data(
    trained: tuple[Path, RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = trained

    class Rounded(PoolFeatures):
        def __call__(self, images: torch.Tensor) -> torch.Tensor:
            return super().__call__(images) + 1e-3

    monkeypatch.setattr(lond.frozen.read, "Extractor", Rounded)
    elsewhere = replace(asked.data, frozen=replace(asked.data.frozen, cache=str(tmp_path / "cache")))
    shutil.copytree(folder, tmp_path / "run")
    before = json.loads((folder / "metrics.json").read_text())["metrics"]["accuracy"]
    assert train_run(replace(asked, data=elsewhere), tmp_path / "run", CPU).metrics["accuracy"] == before


# New images


def test_new_images_are_seen_by_the_same_network(trained: tuple[Path, RunConfig], images: Path, tmp_path: Path) -> None:
    folder, asked = trained
    run = load_run(folder)
    own, test, _ = load_data(asked, CPU)
    assert test is not None
    expected = run.predict(test)
    found = run.predict(run.read(images / "test"))
    assert torch.equal(found.probabilities, expected.probabilities)
    assert torch.equal(found.scores, expected.scores)
    written = (folder / "verdicts.csv").read_text().splitlines()[1:]
    scores = [float(line.split(",")[5]) for line in written]
    assert torch.allclose(run.predict(own).scores, torch.tensor(scores), atol=1e-5)
    assert len(run.predict(run.read(take(test, torch.arange(3)))).scores) == 3


def test_a_moved_run_answers_and_leaves_no_files(
    trained: tuple[Path, RunConfig], images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = trained
    run = load_run(folder)
    moved = replace(asked.data, frozen=replace(asked.data.frozen, cache="nowhere/features"))
    monkeypatch.chdir(tmp_path)
    alone = replace(run, config=replace(asked, data=moved))
    assert torch.equal(alone.predict(alone.read(images / "test")).scores, run.predict(run.read(images / "test")).scores)
    assert list(tmp_path.iterdir()) == []


def test_arrays_and_unreadable_files_of_new_images(trained: tuple[Path, RunConfig], images: Path) -> None:
    run = load_run(trained[0])
    samples = run.read(images / "train", split="train", ignore_classes=True)
    rows = prediction_rows(run, samples, run.predict(samples)).rows
    assert (len(rows), rows[-1]["verdict"]) == (97, "unreadable")
    red = np.full((2, 20, 20, 3), (220, 30, 30), dtype=np.uint8)
    found = run.read(red)
    assert found.pixels.size == (1, 48)
    assert run.predict(found).probabilities.argmax(dim=1).tolist() == [run.shape.class_names.index("red")] * 2


@pytest.mark.parametrize("method", ["lond-drs", "standard"])
def test_detectors_that_need_maps_do_not_apply(method: str, images: Path, tmp_path: Path) -> None:
    asked = config(images, tmp_path / "cache", method)
    train_run(asked, tmp_path / "run", CPU)
    run = load_run(tmp_path / "run")
    training, test, _ = load_data(asked, CPU)
    assert test is not None
    sets, marks = own_test_set(run.read(test))
    training = divide(asked, training).learned_from
    results = compare_detectors(run, training, sets, marks)
    names = {result.name for result in results if not result.problem}
    assert "rankfeat" not in {result.name for result in results}
    assert names >= {"msp", "knn", "mds"}
    with pytest.raises(ConfigError, match="rankfeat does not suit the run"):
        compare_detectors(run, training, sets, marks, ["rankfeat"])


def test_a_configuration_of_before_has_no_frozen_network() -> None:
    content = to_dict(preset("digits"))
    del content["data"]["frozen"]
    assert run_config_from_dict(content) == preset("digits")
    assert load(np.zeros((2, 4, 4, 3), dtype=np.uint8), "test").pixels.size == (4, 4)
