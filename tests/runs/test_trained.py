"""A trained run, written to a folder, read again and asked for predictions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from methods.tiny import VIEWS, tiny_samples

from lond.config import DataSettings, NetSettings, RunConfig
from lond.errors import ConfigError, DataError
from lond.methods import StandardSettings
from lond.runs import train_samples
from lond.runs.trained import Trained, load_run, load_trained, save_trained, write_outcome
from lond.train.loop import TrainSettings
from lond.types import UNLABELLED

CONFIG = RunConfig(
    data=DataSettings(source="memory"),
    net=NetSettings(width=0.125),
    views=VIEWS,
    method="standard",
    settings=StandardSettings(),
    train=TrainSettings(epochs=1, batch_size=16, average_last=1),
)
SAMPLES = tiny_samples(48)


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train_samples(CONFIG, SAMPLES, None)


@pytest.fixture
def folder(trained: Trained, tmp_path: Path) -> Path:
    save_trained(tmp_path / "run", trained)
    return tmp_path / "run"


def test_what_is_written_is_read(trained: Trained, folder: Path) -> None:
    again = load_trained(folder)
    assert again.run.config == CONFIG and again.run.shape == trained.run.shape
    assert again.result.metrics == trained.result.metrics and len(again.result.history) == 1
    assert again.verdicts == trained.verdicts
    assert again.run.threshold == trained.run.threshold
    assert torch.equal(again.run.predict(SAMPLES).probabilities, trained.run.predict(SAMPLES).probabilities)


def test_labels_are_mapped_onto_the_classes_or_not_read(folder: Path) -> None:
    run = load_run(str(folder))
    images = SAMPLES.pixels.images[:3, 0].numpy()
    assert run.read((images, ["class2", "dog", None])).labels.tolist() == [2, -1, UNLABELLED]
    assert len(run.predict(run.read(images)).scores) == 3
    with pytest.raises(DataError, match=r"the training images had \(1, 8, 8\)"):
        run.read(images[..., None].repeat(3, axis=3))


def test_a_run_without_metrics_is_not_finished(folder: Path) -> None:
    assert load_run(folder).finished
    (folder / "metrics.json").unlink()
    (folder / "decision.safetensors").unlink(missing_ok=True)
    cut = load_run(folder)
    assert (cut.finished, cut.threshold) == (False, None)


def test_an_outcome_without_a_decision_takes_the_old_one_away(trained: Trained, folder: Path) -> None:
    write_outcome(folder, replace(trained, run=replace(trained.run, decision=None)))
    assert not (folder / "decision.safetensors").exists()
    assert json.loads((folder / "metrics.json").read_text())["method"] == "standard"


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "checkpoint.safetensors"])
def test_a_folder_that_lacks_a_file_says_how_to_train(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"it has no {name}. Train one with: lond train SOURCE --out"):
        load_run(folder)


def test_a_checkpoint_of_another_network_is_told(folder: Path) -> None:
    content = json.loads((folder / "config.json").read_text())
    content["net"]["width"] = 0.25
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="does not fit its network"):
        load_run(folder)


def test_a_folder_of_another_run_is_not_overwritten(trained: Trained, folder: Path) -> None:
    other = replace(CONFIG, train=replace(CONFIG.train, seed=9))
    with pytest.raises(ConfigError, match=r"other settings \(train\.seed\)"):
        save_trained(folder, replace(trained, run=replace(trained.run, config=other)))
