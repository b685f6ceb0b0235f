"""From options to a configuration, stage by stage."""

from __future__ import annotations

import pytest

from lond.errors import ConfigError
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.features import on_frozen
from lond.presets.options import COMMAND_LINE, stages


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


def test_a_named_network_asks_for_its_features_at_its_own_size() -> None:
    found = stages("", "cifar80n-sym20", "standard", network="efficientnet-lite2")["command line"]
    assert (found.data.frozen.backbone, found.data.frozen.size) == ("efficientnet-lite2", 260)
    assert found.net.backbone == "features"
    usual = stages("", "cifar80n-sym20", "standard", frozen=True)["command line"]
    assert (usual.data.frozen.backbone, usual.data.frozen.size) == ("efficientnet-lite0", 224)
    smaller = stages(
        "", "cifar80n-sym20", "standard", network="efficientnet-lite1", overrides={"data.frozen.size": "96"}
    )["command line"]
    assert (smaller.data.frozen.backbone, smaller.data.frozen.size) == ("efficientnet-lite1", 96)
