"""From options to a configuration, stage by stage, and where each value comes from."""

from __future__ import annotations

import pytest

from lond.config import RunConfig
from lond.errors import ConfigError
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.features import on_frozen
from lond.presets.options import COMMAND_LINE, stages
from lond.presets.provenance import Origin, origins


def test_stages_build_on_each_other() -> None:
    found = stages("", "mini80-sym50", "dividemix", epochs=12, overrides={"train.batch_size": "64"})
    assert list(found) == ["default", "preset mini80-sym50", "recipe dividemix", "--epochs", COMMAND_LINE]
    assert found["preset mini80-sym50"] == PRESETS["mini80-sym50"]
    assert found["recipe dividemix"] == preset("mini80-sym50", "dividemix")
    assert (found["--epochs"].train.epochs, found[COMMAND_LINE].train.batch_size) == (12, 64)


def test_settings_of_a_frozen_network_ask_for_its_features() -> None:
    found = stages("", "cifar80n-sym50", "sed", root="there", overrides={"data.frozen.size": "64"})
    assert found["frozen features"] == on_frozen(preset("cifar80n-sym50", "sed"))
    last = found[COMMAND_LINE].data
    assert (last.frozen.size, last.benchmark.root) == (64, "there")


@pytest.mark.parametrize(("source", "name", "test"), [("", "", ""), ("own", "digits", ""), ("", "digits", "own")])
def test_options_that_contradict_are_refused(source: str, name: str, test: str) -> None:
    with pytest.raises(ConfigError, match="--preset|--test"):
        stages(source, name, "lond-drs", test=test)


def by_key(found: dict[str, RunConfig]) -> dict[str, Origin]:
    return {origin.key: origin for origin in origins(found)}


def test_each_value_names_the_last_stage_that_changed_it() -> None:
    known = by_key(stages("", "mini80-sym50", "dividemix", epochs=12, overrides={"train.batch_size": "64"}))
    assert known["net.width"] == Origin("net.width", 0.5, 1.0, "preset mini80-sym50")
    assert known["optimiser.plan"] == Origin("optimiser.plan", "step", "cosine", "recipe dividemix")
    assert known["train.max_steps"].stage == known["method"].stage == "recipe dividemix"
    assert known["settings.warmup_epochs"] == Origin("settings.warmup_epochs", 4, 30, "--epochs")
    assert known["train.batch_size"] == Origin("train.batch_size", 64, 128, COMMAND_LINE)
    assert known["train.seed"] == Origin("train.seed", 0, 0, "")


def test_settings_of_another_method_do_not_count() -> None:
    """The preset's LOND-DRS has warm-up of 10 epochs, too; that of CIR+ is its recipe's."""
    known = by_key(stages("", "mini80-sym50", "cir-plus"))
    assert known["settings.warmup_epochs"] == Origin("settings.warmup_epochs", 10, 30, "recipe cir-plus")


def test_the_method_may_be_changed_at_last() -> None:
    known = by_key(stages("", "digits", "lond-drs", overrides={"method": "disc", "settings.hidden": "64"}))
    assert (known["method"].stage, known["settings.hidden"].stage) == (COMMAND_LINE, COMMAND_LINE)
    assert known["settings.warmup_epochs"].stage == ""
