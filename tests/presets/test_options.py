"""From options to a configuration, stage by stage."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from lond.errors import ConfigError
from lond.frozen.samples import FrozenSettings
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.features import on_features, on_frozen
from lond.presets.options import COMMAND_LINE, stages, unscaled


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


def test_whole_pictures_ask_for_frozen_features() -> None:
    found = stages("", "cifar80n-sym20", "standard", whole=True)["command line"]
    assert found.data.frozen.whole and found.data.frozen.backbone == "efficientnet-lite0"
    assert stages("", "cifar80n-sym20", "standard", frozen=True)["command line"].data.frozen.limit == math.inf


def test_long_pictures_of_your_own_data_are_seen_to_their_ends(tmp_path: Path) -> None:
    source = str(tmp_path / "images.npz")
    np.savez(source, x=np.zeros((40, 8, 8), dtype=np.uint8), y=np.arange(40) % 2)
    for asked, limit in ((None, 2), (True, math.inf), (False, math.inf)):
        assert stages(source, "", "", frozen=True, whole=asked)["command line"].data.frozen.limit == limit
    assert stages(source, "", "", whole=False)["command line"].data.frozen == FrozenSettings()


def test_the_method_of_your_own_data_if_none_is_named(tmp_path: Path) -> None:
    images, features = tmp_path / "images.npz", tmp_path / "features.npz"
    labels = np.arange(40) % 2
    np.savez(images, x=np.zeros((40, 8, 8), dtype=np.uint8), y=labels)
    np.savez(features, features=np.eye(40, dtype=np.float32), y=labels)
    methods = {
        "images": stages(str(images), "", ""),
        "frozen": stages(str(images), "", "", frozen=True),
        "features": stages(str(features), "", ""),
        "preset": stages("", "digits", "", frozen=True),
        "named": stages(str(features), "", "standard"),
    }
    assert {name: found[COMMAND_LINE].method for name, found in methods.items()} == {
        "images": "cross-fit", "frozen": "cross-fit", "features": "cross-fit",
        "preset": "lond-drs", "named": "standard",
    }  # fmt: skip


def test_cross_fit_learns_from_given_features_as_an_audit_does(tmp_path: Path) -> None:
    source = tmp_path / "features.npz"
    np.savez(source, features=np.eye(400, dtype=np.float32), y=np.arange(400) % 2)
    found, heads = stages(str(source), "", "")[COMMAND_LINE], on_features(400)
    assert (found.optimiser, found.train, found.net) == (heads.optimiser, heads.train, heads.net)
    assert found.settings.warmup_epochs == heads.settings.warmup_epochs


@pytest.mark.parametrize(
    ("method", "epochs", "texts", "left"),
    [
        ("lond-drs", None, {"train.epochs": "60"},
         {"settings.warmup_epochs": 10, "settings.ramp_epochs": 16, "optimiser.constant_epochs": 10}),
        ("lond-drs", None, {"train.epochs": "60", "settings.ramp_epochs": "32", "optimiser.constant_epochs": "20"},
         {"settings.warmup_epochs": 10}),
        ("disc", 40, {"train.epochs": "20"},
         {"settings.warmup_epochs": 13, "settings.confidence_memory": pytest.approx(0.99**5),
          "optimiser.constant_epochs": 17, "optimiser.milestones": [23, 35]}),
        ("lond-drs", 60, {}, {}),
        ("lond-drs", None, {"train.epochs": "30"}, {}),
        ("lond-drs", None, {"train.batch_size": "64"}, {}),
    ],
)  # fmt: skip
def test_a_length_that_is_set_alone_leaves_the_schedule(
    method: str, epochs: int | None, texts: dict[str, str], left: dict[str, object]
) -> None:
    found = stages("", "mini80-sym50", method, epochs=epochs, overrides=texts)
    assert unscaled(found, texts) == left
