"""From a run folder to its record."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from methods.tiny import write_npz
from results.run_samples import EPOCHS, history_of, small, write_detectors, write_run

from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.options import ReadOptions
from lond.data.views import ViewSettings
from lond.errors import ConfigError, DataError
from lond.presets.scaling import with_method
from lond.results import DataPart, Machine, Seeds, read, record_of, write
from lond.runs import train_run
from lond.train.loop import TrainSettings
from lond.train.runtime import RuntimeSettings


def test_all_of_it(tmp_path: Path) -> None:
    record = record_of(write_run(tmp_path / "run", detectors=True), scale="mini", machine=Machine(1, "cpu"))
    assert (record.method, record.data, record.noise) == ("lond-drs", "mini80", "sym50")
    assert (record.preset, record.scale, record.classes) == ("mini80-sym50", "mini", 3)
    assert record.seeds == Seeds(training=0, split=0, noise=0)
    assert record.changes == {"train.epochs": EPOCHS}
    assert record.config["settings"]["identify"]["neighbours"] == 50
    assert record.versions == {"lond": "0.1.0", "torch": "2.9.0", "python": "3.11.7"}
    assert record.machine == Machine(threads=1, device="cpu")
    assert record.fingerprint["train"] == DataPart(96, "0123456789abcdef", "fedcba9876543210")
    assert record.fingerprint["test"].images == 24
    assert record.rates == {"closed_rate": 0.51, "open_share": 0.2, "overall": 0.6}
    assert (record.epochs, record.warmup_epochs, record.mean_over_last) == (EPOCHS, 2, 3)
    assert record.metrics["accuracy"] == 0.49
    assert record.metrics["clean_precision"] is None
    assert record.last_epoch["accuracy"] == 0.5
    assert "epoch" not in record.last_epoch
    assert record.verdicts == {"verdict_foreign_f1": 0.25}
    assert record.seconds == {"identify": 3.0, "train": 12.0, "evaluate": 1.5}
    assert record.total_seconds == 16.5
    assert record.finished is None
    assert record.name == f"mini80-sym50-lond-drs-seed0-{record.identity}"


def test_curves_have_a_value_an_epoch(tmp_path: Path) -> None:
    record = record_of(write_run(tmp_path))
    assert record.curves["label_accuracy"] == (None, None, *[0.333333] * (EPOCHS - 2))
    assert record.curves["accuracy"] == pytest.approx([h["accuracy"] for h in history_of(EPOCHS, 0.5)])
    # One that was never a number is not kept.
    assert "clean_precision" not in record.curves
    assert "open_recall" not in record.curves


def test_figures_by_name(tmp_path: Path) -> None:
    record = record_of(write_run(tmp_path, detectors=True))
    assert record.value("accuracy") == 0.49
    assert record.value("last.accuracy") == 0.5
    assert record.value("verdict_foreign_f1") == 0.25
    assert record.value("msp.auroc") == 0.7
    assert record.value("knn.all.auroc") == 0.5
    assert record.value("knn.clean.auroc") is None
    assert record.value("seconds") == 16.5
    assert record.value("nothing") is None
    assert record.detectors[0].seconds == 0.123457
    assert record.detectors[2].problem == "too few"


def test_detectors_at_the_top_of_the_folder_count_too_and_on_other_images_do_not(tmp_path: Path) -> None:
    write_run(tmp_path)
    write_detectors(tmp_path)
    (tmp_path / "detect" / "detectors.json").rename(tmp_path / "detectors.json")
    assert len(record_of(tmp_path).detectors) == 3
    (tmp_path / "detectors.json").unlink()
    write_detectors(tmp_path, origin="photos")
    assert record_of(tmp_path).detectors == ()


def test_paths_are_left_out(tmp_path: Path) -> None:
    config = small()
    benchmark = replace(config.data.benchmark, root="/secret/place")
    read_options = replace(config.data.read, root="/secret/table")
    frozen = replace(config.data.frozen, cache="/secret/cache", checkpoint_path="/secret/frozen")
    data = replace(config.data, benchmark=benchmark, read=read_options, frozen=frozen)
    net = replace(config.net, checkpoint_path="/secret/weights")
    moved = record_of(write_run(tmp_path / "a", replace(config, data=data, net=net)))
    assert "secret" not in json.dumps(moved.config)
    assert moved.identity == record_of(write_run(tmp_path / "b", config)).identity


def test_the_identity_is_that_of_settings_seeds_and_data(tmp_path: Path) -> None:
    config = small()
    plain = record_of(write_run(tmp_path / "a", config))
    assert record_of(write_run(tmp_path / "b", config, accuracy=0.9)).identity == plain.identity
    other_seed = record_of(write_run(tmp_path / "c", small(seed=1)))
    assert other_seed.identity != plain.identity
    assert other_seed.variant == plain.variant
    batch = record_of(write_run(tmp_path / "d", small(batch_size=64)))
    assert batch.variant != plain.variant
    data = record_of(write_run(tmp_path / "e", config, pixels="ffff"))
    assert data.identity != plain.identity
    assert data.variant == plain.variant


def test_a_setting_that_an_older_version_did_not_write_changes_nothing(tmp_path: Path) -> None:
    new = record_of(write_run(tmp_path / "run"))
    content = json.loads((tmp_path / "run" / "config.json").read_text())
    del content["data"]["benchmark"]["train_on_unknown"]
    del content["settings"]["identify"]["selection"]
    (tmp_path / "run" / "config.json").write_text(json.dumps(content))
    old = record_of(tmp_path / "run")
    assert (old.identity, old.variant, old.config) == (new.identity, new.variant, new.config)


def test_data_of_one_s_own(tmp_path: Path) -> None:
    config = small()
    config = replace(config, data=replace(config.data, source="/home/me/my photos"))
    unknown = {"noise": "the data's own; rates unknown"}
    record = record_of(write_run(tmp_path / "a", config, noise=unknown))
    assert (record.data, record.noise, record.preset, record.scale) == ("my photos", "", "", "own")
    assert record.seeds.noise is None
    assert (record.changes, record.rates) == ({}, {})
    assert record.name.startswith("my_photos-lond-drs-seed0-")
    assert record_of(tmp_path / "a", data="photos").data == "photos"
    # A benchmark that stands in the settings unused is not part of the run.
    noise = replace(config.data.benchmark.noise, closed_rate=0.3)
    unused = replace(config, data=replace(config.data, benchmark=replace(config.data.benchmark, noise=noise)))
    assert record_of(write_run(tmp_path / "b", unused, noise=unknown)).identity == record.identity


def test_a_source_told_to_be_a_preset_s_data(tmp_path: Path) -> None:
    config = small("digits")
    config = replace(config, data=replace(config.data, source="features.npz"))
    record = record_of(write_run(tmp_path, config, noise={}), preset="cifar80n-sym80", scale="frozen")
    assert (record.data, record.noise, record.preset, record.scale) == ("cifar80n", "sym80", "cifar80n-sym80", "frozen")


def test_images_of_another_source_are_in_the_name(tmp_path: Path) -> None:
    config = small("cifar100n-sym50")
    benchmark = replace(config.data.benchmark, open_source="data/tinyimagenet", open_images=10_000)
    tiny = replace(config, data=replace(config.data, benchmark=benchmark))
    record = record_of(write_run(tmp_path / "a", tiny))
    assert record.data == "cifar100n+tinyimagenet-10k"
    assert record.changes == {"data.benchmark.open_images": 10_000, "train.epochs": EPOCHS}
    benchmark = replace(benchmark, open_source="data/places.npz", open_images=1500)
    other = record_of(write_run(tmp_path / "b", replace(config, data=replace(config.data, benchmark=benchmark))))
    assert other.data == "cifar100n+places-1500"
    assert other.variant != record.variant


@pytest.mark.parametrize(
    ("name", "train", "scale"),
    [
        ("cifar80n-sym80", {"epochs": 300}, "full"),
        ("cifar80n-sym80", {"epochs": 300, "max_steps": 5}, "smoke"),
        ("cifar80n-sym80", {"epochs": 299}, "smoke"),
        ("mini80-asym40", {"epochs": 30}, "mini"),
        ("mini80-asym40", {"epochs": 31}, "mini"),
        ("mini80-asym40", {"epochs": 10}, "mini"),  # its warm-up alone, as in the paper's ablation
        ("cifar80n-sym80", {"epochs": 50}, "full"),
        ("digits", {"epochs": 2}, "smoke"),
        ("web-bird", {"epochs": 120}, "full"),
    ],
)
def test_the_scale_is_guessed(tmp_path: Path, name: str, train: dict, scale: str) -> None:
    record = record_of(write_run(tmp_path, small(name, **train)))
    assert (record.scale, record.preset) == (scale, name)


def test_fewer_steps_are_no_cut_where_the_preset_has_them(tmp_path: Path) -> None:
    config = small(method="dividemix", epochs=30)
    assert config.train.max_steps > 0
    assert record_of(write_run(tmp_path / "a", config)).scale == "mini"
    fewer = replace(config, train=replace(config.train, max_steps=1))
    assert record_of(write_run(tmp_path / "b", fewer)).scale == "smoke"


def test_noise_without_a_preset(tmp_path: Path) -> None:
    config = small("cifar80n-sym80", epochs=300)
    noise = replace(config.data.benchmark.noise, closed_rate=0.125, seed=4)
    config = replace(config, data=replace(config.data, benchmark=replace(config.data.benchmark, noise=noise)))
    record = record_of(write_run(tmp_path, config))
    assert (record.preset, record.noise, record.seeds.noise, record.scale) == ("", "sym12.5", 4, "full")


def test_a_frozen_network_is_compared_with_its_own_baseline(tmp_path: Path) -> None:
    from lond.presets.benchmarks import preset
    from lond.presets.features import on_frozen

    config = on_frozen(preset("cifar80n-sym80"))
    record = record_of(write_run(tmp_path / "a", config))
    assert (record.scale, record.data, record.noise, record.changes) == ("frozen", "cifar80n", "sym80", {})
    changed = replace(config, settings=replace(config.settings, consistency_weight=0.0))
    assert record_of(write_run(tmp_path / "b", changed)).changes == {"settings.consistency_weight": 0.0}
    assert record_of(tmp_path / "b", baseline=changed).changes == {}


def test_wrong_words(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    with pytest.raises(ConfigError, match="no preset 'mini81'"):
        record_of(folder, preset="mini81")
    with pytest.raises(ConfigError, match="not one of preset mini80-asym40"):
        record_of(folder, preset="mini80-asym40")
    with pytest.raises(ConfigError, match="no scale 'huge'; choose one of: full, mini, frozen, smoke, own"):
        record_of(folder, scale="huge")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "metrics.json", "log.jsonl"])
def test_unfinished_and_damaged_runs(tmp_path: Path, name: str) -> None:
    folder = write_run(tmp_path / "run")
    (folder / name).write_text("{")
    with pytest.raises(DataError, match="damaged"):
        record_of(folder)
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"no finished run: it has no {name}"):
        record_of(folder)


def test_a_log_or_manifest_that_lacks_something(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["versions"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="damaged: KeyError 'versions'"):
        record_of(folder)
    write_run(folder)
    lines = (folder / "log.jsonl").read_text().splitlines()
    (folder / "log.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(DataError, match=f"{EPOCHS - 1} of {EPOCHS} epochs are logged"):
        record_of(folder)


def test_the_time_is_the_checkpoint_s_or_told(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "checkpoint.safetensors").write_bytes(b"")
    os.utime(folder / "checkpoint.safetensors", (0, 1_700_000_000))
    assert record_of(folder).finished == "2023-11-14T22:13:20Z"
    assert record_of(folder, finished=datetime(2026, 1, 31, 12, tzinfo=UTC)).finished == "2026-01-31T12:00:00Z"


def test_the_machine_is_the_manifest_s_or_told(tmp_path: Path) -> None:
    folder = write_run(tmp_path, machine={"threads": 8, "device": "cpu", "precision": "32-true", "processes": 2})
    assert record_of(folder).machine == Machine(8, "cpu", "32-true", 2)
    assert record_of(folder, machine=Machine(threads=4)).machine == Machine(4, "cpu", "32-true", 2)
    assert record_of(write_run(tmp_path / "old")).machine == Machine()


def test_a_run_that_was_really_trained(tmp_path: Path) -> None:
    write_npz(tmp_path / "train.npz", 48)
    write_npz(tmp_path / "test.npz", 24)
    data = DataSettings(
        source=str(tmp_path / "train.npz"), test_source=str(tmp_path / "test.npz"), read=ReadOptions(size=8)
    )
    config = with_method(
        RunConfig(
            data=data,
            net=NetSettings(width=0.125),
            views=ViewSettings(padding=1, flip=False, strong="geometric"),
            train=TrainSettings(epochs=2, batch_size=16, average_last=1),
        ),
        "standard",
    )
    result = train_run(config, tmp_path / "run", RuntimeSettings(accelerator="cpu", threads=1), show_progress=False)
    record = record_of(tmp_path / "run")
    assert record.machine == Machine(1, "cpu", "32-true", 1)
    assert record.metrics["accuracy"] == result.metrics["accuracy"]
    assert record.last_epoch["accuracy"] == result.history[-1]["accuracy"]
    assert (record.data, record.scale, record.method) == ("train", "own", "standard")
    assert record.finished is not None
    assert str(tmp_path) not in json.dumps(record.config)
    assert write(tmp_path / "store", record).outcome == "new"
    assert read(tmp_path / "store") == [record]
    assert write(tmp_path / "store", record_of(tmp_path / "run")).outcome == "kept"
