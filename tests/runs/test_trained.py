"""A trained run, written to a folder, read again and asked for predictions."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from methods.tiny import VIEWS, tiny_samples
from safetensors import safe_open
from safetensors.torch import save_file

from lond.config import DataSettings, NetSettings, RunConfig
from lond.errors import ConfigError, DataError
from lond.methods import StandardSettings
from lond.runs import train_samples
from lond.runs.calibration import calibrate_scores, save_calibration
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
    write_outcome(folder, replace(trained, run=replace(trained.run, calibration=None)))
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
    with pytest.raises(DataError, match=r"belongs to another run \(it differs in net\.width\)"):
        load_run(folder)
    of_version_1(folder / "checkpoint.safetensors")
    with pytest.raises(DataError, match="does not fit its network"):
        load_run(folder)


def of_version_1(path: Path) -> None:
    """Take away what a file says of itself, as version 0.1.0 wrote none of it."""
    with safe_open(path, framework="pt") as file:
        tree = json.dumps(json.loads(file.metadata()["about"])["tree"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, metadata={"format": "1", "tree": tree})


def other_run(folder: Path, **changes: int) -> Path:
    """Train a run with other settings."""
    config = replace(CONFIG, train=replace(CONFIG.train, **changes))
    train_samples(config, SAMPLES, None, folder)
    return folder


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "decision.safetensors"])
def test_a_file_of_another_seed_is_refused(name: str, folder: Path, tmp_path: Path) -> None:
    other = other_run(tmp_path / "other", seed=5)
    save_calibration(other, calibrate_scores(torch.arange(100.0), 0.05, "some images"))
    shutil.copy(other / name, folder / name)
    with pytest.raises(DataError, match=rf"{name} belongs to another run \(it differs in train\.seed\)"):
        load_run(folder)


def test_a_file_of_a_run_on_other_data_is_refused(folder: Path, tmp_path: Path) -> None:
    train_samples(CONFIG, tiny_samples(60), None, tmp_path / "other")
    shutil.copy(tmp_path / "other/checkpoint.safetensors", folder)
    with pytest.raises(DataError, match=r"belongs to another run \(it differs in data\.train\.images, "):
        load_run(folder)


def test_a_checkpoint_in_place_of_a_decision_is_refused(folder: Path) -> None:
    shutil.copy(folder / "checkpoint.safetensors", folder / "decision.safetensors")
    with pytest.raises(DataError, match="holds a checkpoint, not a decision"):
        load_run(folder)
    of_version_1(folder / "decision.safetensors")
    with pytest.raises(DataError, match="is not a decision: it has no threshold"):
        load_run(folder)


def test_files_without_hash_and_identity_still_load(trained: Trained, folder: Path) -> None:
    save_calibration(folder, calibrate_scores(torch.arange(100.0), 0.05, "some images"))
    for name in ("checkpoint.safetensors", "decision.safetensors"):
        of_version_1(folder / name)
    assert load_run(folder).threshold is not None
    assert torch.equal(load_run(folder).predict(SAMPLES).scores, trained.run.predict(SAMPLES).scores)


def test_a_flipped_bit_is_told_with_the_way_on(folder: Path) -> None:
    path = folder / "checkpoint.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 4
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=r"is damaged .*the lond train command of the run mends it and needs it deleted"
    ):
        load_run(folder)


def test_verdicts_that_were_cut_are_told(folder: Path) -> None:
    path = folder / "verdicts.csv"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-3]))
    with pytest.raises(DataError, match=r"verdicts\.csv is damaged \(45 rows for 48 images\)"):
        load_run(folder)


def test_metrics_that_were_changed_are_told(folder: Path) -> None:
    content = json.loads((folder / "metrics.json").read_text())
    content["metrics"]["loss"] = 0.1
    (folder / "metrics.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"metrics\.json is damaged .*; delete it and start the lond train command"):
        load_run(folder)


@pytest.mark.parametrize("content", ["{}", "null", "[]", '{"class_names": 3}', "x", '{"a":' * 5000, '{"a": 1e999}'])
@pytest.mark.parametrize("name", ["manifest.json", "config.json", "metrics.json"])
def test_other_json_is_an_error_that_names_the_file(name: str, content: str, folder: Path) -> None:
    (folder / name).write_text(content)
    with pytest.raises((DataError, ConfigError)) as caught:
        load_trained(folder).result  # noqa: B018
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_of_another_run_is_not_overwritten(trained: Trained, folder: Path) -> None:
    other = replace(CONFIG, train=replace(CONFIG.train, seed=9))
    with pytest.raises(ConfigError, match=r"other settings \(train\.seed\)"):
        save_trained(folder, replace(trained, run=replace(trained.run, config=other)))
