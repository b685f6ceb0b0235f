"""Samples that are held out: not trained on, split by their own seed, judged, and used for the calibration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from methods.tiny import VIEWS, lond_settings, tiny_samples
from torch import Tensor

from lond import LondClassifier
from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.pixels import ArrayPixels
from lond.data.split import hold_out
from lond.errors import ConfigError
from lond.methods import StandardSettings
from lond.runs import Trained, load_run, load_trained, train_samples
from lond.runs.calibration import CALIBRATION, Calibration, load_calibration, save_calibration
from lond.runs.folder import METRICS, VERDICTS
from lond.runs.image_tables import judge_samples, verdict_columns
from lond.runs.predicted import HELD_OUT, IN_TRAINING
from lond.train.checkpoint import load_state, same_state
from lond.train.loop import Trainer, TrainSettings
from lond.train.schedule import OptimiserSettings
from lond.types import Prediction, Samples

MARGINS = ("weight", "neighbour_margin", "negative_margin")


def config(method: str = "lond-drs", share: float = 0.25, split_seed: int = 0, **train: Any) -> RunConfig:
    settings = lond_settings() if method == "lond-drs" else StandardSettings(hidden=16)
    return RunConfig(
        data=DataSettings(hold_out=share, split_seed=split_seed),
        net=NetSettings(width=0.125),
        views=VIEWS,
        method=method,
        settings=settings,
        optimiser=OptimiserSettings(learning_rate=0.05, constant_epochs=9),
        train=TrainSettings(**({"epochs": 3, "batch_size": 16, "average_last": 1} | train)),
    )


def noisy(count: int = 72) -> Samples:
    """Every ninth label is wrong, two are missing."""
    labels = torch.arange(count) % 3
    labels[::9] = (labels[::9] + 1) % 3
    labels[10:12] = -2
    return tiny_samples(count, labels=labels)


def with_noise_at(samples: Samples, places: Tensor) -> Samples:
    """Return the samples with other images at some places."""
    assert isinstance(samples.pixels, ArrayPixels)
    images = samples.pixels.images.clone()
    images[places] = torch.randint(0, 255, images[places].shape, dtype=torch.uint8)
    return replace(samples, pixels=ArrayPixels(images))


def held_rows(trained: Trained) -> list[int]:
    return [row for row, name in enumerate(trained.verdicts["learned_as"]) if name == "held out"]


# The split


@pytest.mark.parametrize("method", ["lond-drs", "standard"])
def test_held_out_samples_are_not_trained_on(method: str) -> None:
    samples = noisy()
    kept, held = hold_out(samples.labels, 0.25, 0)
    first = train_samples(config(method), samples)
    second = train_samples(config(method), with_noise_at(samples, held))
    assert same_state(first.state["method"], second.state["method"])
    assert same_state(first.state["extra"], second.state["extra"])
    other = train_samples(config(method), with_noise_at(samples, kept[:3]))
    assert not same_state(first.state["method"], other.state["method"])


def test_the_split_depends_on_its_own_seed_only() -> None:
    samples = noisy()
    _, held = hold_out(samples.labels, 0.25, 0)
    first = train_samples(config(epochs=2), samples)
    assert held_rows(first) == held.tolist()
    assert held_rows(train_samples(config(epochs=2, seed=5, batch_size=24), samples)) == held_rows(first)
    assert held_rows(train_samples(config(epochs=2, split_seed=1), samples)) != held_rows(first)


@pytest.mark.parametrize("share", [1.0, -0.1])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="share to hold out"):
        train_samples(config(share=share), noisy())


def test_a_resumed_run_is_equal_to_the_last_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = noisy()
    train_samples(config(epochs=4), samples, folder=tmp_path / "whole")
    epoch = Trainer._epoch

    def cut(trainer: Trainer, number: int, bar: Any) -> dict[str, Any]:
        if number == 3:
            raise KeyboardInterrupt
        return epoch(trainer, number, bar)

    monkeypatch.setattr(Trainer, "_epoch", cut)
    with pytest.raises(KeyboardInterrupt):
        train_samples(config(epochs=4), samples, folder=tmp_path / "cut")
    monkeypatch.undo()
    assert not (tmp_path / "cut" / CALIBRATION).exists()
    train_samples(config(epochs=4), samples, folder=tmp_path / "cut")
    whole, again = (load_state(tmp_path / name / "checkpoint.safetensors") for name in ("whole", "cut"))
    for part in ("method", "extra", "optimiser"):
        assert same_state(whole[part], again[part])
    assert same_state(load_state(tmp_path / "whole" / CALIBRATION), load_state(tmp_path / "cut" / CALIBRATION))
    verdicts = [(tmp_path / name / "verdicts.csv").read_bytes() for name in ("whole", "cut")]
    assert verdicts[0] == verdicts[1]
    with pytest.raises(ConfigError, match=r"other settings \(data.hold_out, data.split_seed\)"):
        train_samples(config(epochs=4, share=0.5, split_seed=3), samples, folder=tmp_path / "cut")


def test_every_sample_is_judged_and_held_out_ones_have_no_margins(tmp_path: Path) -> None:
    samples = noisy()
    kept, held = hold_out(samples.labels, 0.25, 0)
    trained = train_samples(config(), samples, folder=tmp_path / "run")
    table = load_trained(tmp_path / "run").verdicts
    assert table == trained.verdicts
    assert table["id"] == list(samples.ids)
    assert all(verdict in ("clean", "mislabelled", "foreign", "unlabelled") for verdict in table["verdict"])
    partition = trained.run.method.partition
    assert partition is not None
    assert len(partition.clean) == len(kept)
    words = {"clean": "clean", "closed": "mislabelled", "open": "foreign"}
    assert [table["learned_as"][row] for row in kept.tolist()] == [words[name] for name in partition.names()]
    for name in MARGINS:
        assert {table[name][row] for row in held.tolist()} == {""}
        values = [float(table[name][row]) for row in kept.tolist()]
        field = "weights" if name == "weight" else name
        assert values == pytest.approx(getattr(partition, field).tolist(), rel=1e-5, abs=1e-12)


def test_without_a_partition_there_are_no_such_columns() -> None:
    samples = noisy(24)
    prediction = Prediction(torch.eye(3)[torch.arange(24) % 3], torch.zeros(24), torch.zeros(24, 1), torch.zeros(24, 3))
    table = verdict_columns(samples, prediction, judge_samples(samples, prediction, 0.5), None, torch.arange(10))
    assert {"learned_as", *MARGINS}.isdisjoint(table)
    assert all(len(column) == 24 for column in table.values())


# The calibration


@pytest.mark.parametrize(("share", "source"), [(0.5, HELD_OUT), (0.0, IN_TRAINING)])
def test_a_run_says_where_its_threshold_comes_from(tmp_path: Path, share: float, source: str) -> None:
    samples = tiny_samples(90)
    trained = train_samples(config("standard", share, epochs=8), samples, folder=tmp_path / "run")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    stored = load_run(tmp_path / "run").calibration
    assert stored is not None
    assert metrics["threshold_from"] == stored.source == source
    assert metrics["threshold"] == stored.threshold == trained.run.threshold
    if share:
        _, held = hold_out(samples.labels, share, 0)
        prediction = trained.run.predict(samples)
        agrees = prediction.probabilities[held].argmax(dim=1) == samples.labels[held]
        assert torch.allclose(stored.known_scores, prediction.scores[held[agrees]].sort().values, atol=1e-6)


def test_a_run_with_too_few_samples_says_so(tmp_path: Path) -> None:
    train_samples(config("standard", epochs=1), tiny_samples(15), folder=tmp_path / "run")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["threshold"], metrics["threshold_from"]) == (None, None)
    assert load_run(tmp_path / "run").calibration is None


# A calibration that was made since


CHECKED = Calibration(0.123, 0.2, torch.linspace(0, 1, 50), "shelf", 2.5, 0.2, 0.1)


def test_a_second_look_does_not_undo_a_calibration(tmp_path: Path) -> None:
    samples, folder = tiny_samples(72), tmp_path / "run"
    first = train_samples(config("standard"), samples, folder=folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    train_samples(config("standard"), samples, folder=folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    save_calibration(folder, CHECKED)
    again = train_samples(config("standard"), samples, folder=folder)
    stored = load_calibration(folder)
    assert stored is not None
    assert (stored.source, stored.temperature, stored.threshold) == ("shelf", 2.5, 0.123)
    assert again.run.threshold == 0.123
    assert first.run.threshold != 0.123
    assert all((folder / name).read_bytes() == content for name, content in files.items() if name != CALIBRATION)


def test_a_calibration_of_a_run_that_was_cut_does_not_outlive_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, folder = tiny_samples(72), tmp_path / "run"
    epoch = Trainer._epoch

    def cut(trainer: Trainer, number: int, bar: Any) -> dict[str, Any]:
        if number == 1:
            raise KeyboardInterrupt
        return epoch(trainer, number, bar)

    monkeypatch.setattr(Trainer, "_epoch", cut)
    with pytest.raises(KeyboardInterrupt):
        train_samples(config("standard"), samples, folder=folder)
    monkeypatch.undo()
    save_calibration(folder, CHECKED)
    trained = train_samples(config("standard"), samples, folder=folder)
    assert trained.run.calibration is not None
    assert trained.run.calibration.source != "shelf"
    assert load_run(folder).threshold == trained.run.threshold


def test_old_metrics_are_gone_while_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, folder = tiny_samples(72), tmp_path / "run"
    epoch, seen = Trainer._epoch, []

    def cut(trainer: Trainer, number: int, bar: Any) -> dict[str, Any]:
        seen.append((number, (folder / METRICS).is_file()))
        if len(seen) == 2:
            raise KeyboardInterrupt
        return epoch(trainer, number, bar)

    monkeypatch.setattr(Trainer, "_epoch", cut)
    with pytest.raises(KeyboardInterrupt):
        train_samples(config("standard"), samples, folder=folder)
    (folder / METRICS).write_text("{}")  # as of an older version, or copied
    train_samples(config("standard"), samples, folder=folder)
    assert seen == [(0, False), (1, False), (1, False), (2, False)]
    assert json.loads((folder / METRICS).read_text())["method"] == "standard"


def test_metrics_are_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, folder = tiny_samples(72), tmp_path / "run"

    def full_disk(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("lond.runs.trained.write_verdicts", full_disk)
    with pytest.raises(OSError, match="no space"):
        train_samples(config("standard"), samples, folder=folder)
    assert (folder / CALIBRATION).is_file()
    assert not (folder / METRICS).exists()
    monkeypatch.undo()
    monkeypatch.setattr(Trainer, "_epoch", lambda *_: pytest.fail("trained again"))
    train_samples(config("standard"), samples, folder=folder)
    assert (folder / METRICS).is_file()
    assert (folder / VERDICTS).is_file()


def test_another_false_alarm_rate_replaces_the_threshold(tmp_path: Path) -> None:
    samples, folder = tiny_samples(72), tmp_path / "run"
    for rate in (0.05, 0.4, 0.001):
        trained = train_samples(config("standard"), samples, folder=folder, false_alarm_rate=rate)
        metrics = json.loads((folder / "metrics.json").read_text())
        assert load_run(folder).threshold == trained.run.threshold == metrics["threshold"]
        assert (trained.run.threshold is None) == (rate == 0.001)


def test_the_estimator_keeps_its_threshold(tmp_path: Path) -> None:
    samples = tiny_samples(60)
    assert isinstance(samples.pixels, ArrayPixels)
    images, labels = samples.pixels.images.numpy(), samples.labels.numpy()
    options: dict[str, Any] = {"width": 0.125, "epochs": 3, "batch_size": 16, "flip": False, "strong": "geometric"}
    for rate in (0.05, 0.3):
        model = LondClassifier("standard", false_alarm_rate=rate, **options).fit(images, labels)
        model.save(tmp_path / "model")
        again = LondClassifier.load(tmp_path / "model")
        assert again.threshold_ == model.threshold_ is not None
        assert again.is_foreign(images).tolist() == model.is_foreign(images).tolist()
        assert len(again.verdicts_) == 60
