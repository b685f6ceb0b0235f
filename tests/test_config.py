from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lond.config import (
    NetSettings,
    RunConfig,
    read_config,
    run_config_from_dict,
    settings_class,
    to_dict,
    with_overrides,
)
from lond.errors import ConfigError, DataError
from lond.io.json_files import write_json
from lond.io.plain_values import from_plain
from lond.methods import METHODS, LondDrsSettings, StandardSettings
from lond.presets.benchmarks import PRESETS


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_every_preset_survives_the_round_trip(name: str, method: str) -> None:
    config = replace(PRESETS[name], method=method, settings=settings_class(method)())
    assert run_config_from_dict(to_dict(config)) == config
    assert run_config_from_dict(to_dict(PRESETS[name])) == PRESETS[name]


def test_the_dictionary_holds_plain_values_only() -> None:
    content = to_dict(RunConfig())
    assert content["views"]["mean"] == [0.485, 0.456, 0.406]
    assert content["settings"]["identify"]["neighbours"] == 200


def test_missing_keys_take_the_defaults() -> None:
    assert run_config_from_dict({}) == RunConfig()
    assert run_config_from_dict({"train": {"epochs": 7}}).train.epochs == 7
    assert run_config_from_dict({"method": "standard"}).settings == StandardSettings()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"trian": {}}, ["'trian'", "'train'"]),
        ({"train": {"epoch": 3}}, ["'train.epoch'", "'train.epochs'"]),
        ({"settings": {"identify": {"neighbors": 3}}}, ["identify.neighbors'", "'settings.identify.neighbours'"]),
        ({"data": {"benchmark": {"noise": {"xyz": 1}}}}, ["'data.benchmark.noise.xyz'", "known: kind, closed_rate"]),
        ({"train": {"epochs": "3"}}, ["train.epochs is '3'", "int"]),
        ({"train": {"epochs": 3.5}}, ["train.epochs is 3.5", "int"]),
        ({"train": {"epochs": True}}, ["train.epochs is True", "int"]),
        ({"views": {"flip": 1}}, ["views.flip is 1", "bool"]),
        ({"views": {"mean": [0.5, 0.5]}}, ["views.mean", "3 values"]),
        ({"views": {"mean": [0.5, 0.5, "x"]}}, ["views.mean[2]", "float"]),
        ({"net": {"checkpoint_path": 3}}, ["net.checkpoint_path", "str"]),
        ({"optimiser": {"name": "lion"}}, ["optimiser.name", "sgd, adam"]),
        ({"data": {"benchmark": {"noise": {"kind": "odd"}}}}, ["data.benchmark.noise.kind", "symmetric, asymmetric"]),
        ({"train": 3}, ["train must be a table"]),
        ({"settings": 3}, ["settings must be a table"]),
        ({"method": "lond"}, ["no method 'lond'", "lond-drs"]),
        ({"method": ["lond-drs"]}, ["method", "str"]),
        ({"train": {"epochs": 0}}, ["epochs", "at least 1"]),
        ({"method": "standard", "settings": {"warmup_epochs": 1}}, ["'settings.warmup_epochs'"]),
    ],
)
def test_a_wrong_key_or_value_is_named(content: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        run_config_from_dict(content)
    for word in words:
        assert word in str(error.value)


def test_the_file_of_a_wrong_configuration_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    write_json(path, to_dict(RunConfig()))
    assert read_config(path) == RunConfig()
    write_json(path, {"train": {"epoch": 3}})
    with pytest.raises(ConfigError, match=f"{path}: unknown key 'train.epoch'; did you mean 'train.epochs'"):
        read_config(path)
    path.write_text("null")
    with pytest.raises(DataError, match=f"{path} is damaged"):
        read_config(path)


def test_whole_numbers_may_stand_for_real_ones_and_null_for_none() -> None:
    net = from_plain(NetSettings, {"width": 2, "checkpoint_path": None})
    assert net.width == 2.0
    assert isinstance(net.width, float)
    assert net.checkpoint_path is None


def test_overrides_reach_every_depth() -> None:
    texts = {
        "train.epochs": "10",
        "settings.identify.open_share": "0.2",
        "data.read.size": "32",
        "net.backbone": "timm:resnet18",
        "views.flip": "false",
        "views.std": "[1, 1, 1]",
    }
    config = with_overrides(RunConfig(), texts)
    assert config.train.epochs == 10
    assert config.settings.identify.open_share == 0.2
    assert config.data.read.size == 32
    assert config.net.backbone == "timm:resnet18"
    assert config.views.flip is False
    assert config.views.std == (1.0, 1.0, 1.0)
    assert with_overrides(config, {"data.read.size": "null"}).data.read.size is None
    assert with_overrides(RunConfig(), {}) == RunConfig()


def test_another_method_brings_its_own_settings() -> None:
    config = with_overrides(RunConfig(), {"settings.hidden": "64", "method": "standard"})
    assert config.method == "standard"
    assert config.settings == StandardSettings(hidden=64)
    kept = RunConfig(settings=LondDrsSettings(mixup=0.5))
    assert with_overrides(kept, {"method": "lond-drs"}) == kept


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("train.epoch", ["'train.epoch'", "'train.epochs'"]),
        ("trains.epochs", ["'trains'", "'train'"]),
        ("train.epochs.more", ["'train.epochs'"]),
        ("", ["''"]),
    ],
)
def test_an_override_of_no_setting_is_an_error(key: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        with_overrides(RunConfig(), {key: "3"})
    for word in words:
        assert word in str(error.value)


def test_an_override_of_the_wrong_type_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"train\.epochs is 'many'"):
        with_overrides(RunConfig(), {"train.epochs": "many"})
