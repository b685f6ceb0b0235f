"""From the estimator's arguments to a configuration."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from lond.config import RunConfig
from lond.errors import ConfigError
from lond.methods import METHODS
from lond.presets.features import on_features
from lond.presets.for_estimator import estimator_config, estimator_config_on_features, plain_values

ARGUMENTS: dict[str, Any] = {
    "method": "lond-drs", "epochs": 50, "backbone": "seven-layer", "width": 0.5, "warmup_epochs": None,
    "random_state": 7, "padding": None, "flip": True, "strong": "autoaugment", "settings": None,
    "learning_rate": 0.03, "batch_size": 64,
}  # fmt: skip


def made(side: int = 32, **changes: Any) -> RunConfig:
    return estimator_config(ARGUMENTS | changes, side)


def test_what_is_not_given_follows_from_length_and_size() -> None:
    config = made()
    assert config.settings.warmup_epochs == config.optimiser.constant_epochs == 10
    assert (config.settings.identify.top, config.settings.identify.clean_quantile) == (1, 0.5)
    assert [made(side).views.padding for side in (4, 32, 100)] == [1, 4, 12]
    assert made(padding=0).views.padding == 0
    assert (config.train.epochs, config.train.batch_size, config.train.seed) == (50, 64, 7)


def test_cross_fit_is_usual_and_judges_every_twelfth_of_a_run() -> None:
    config = made(method=None)
    assert (config.method, config.settings.judge_epochs, config.settings.warmup_epochs) == ("cross-fit", 4, 10)
    assert made(method=None, epochs=6).settings.judge_epochs == 1


def test_settings_replace_single_values() -> None:
    config = made(settings={"mixup": 0.0, "identify": {"neighbours": 5}})
    assert (config.settings.mixup, config.settings.warmup_epochs) == (0.0, 10)
    assert (config.settings.identify.neighbours, config.settings.identify.top) == (5, 1)


def test_a_method_is_given_only_what_it_knows() -> None:
    assert made(method="standard").method == "standard"
    with pytest.raises(ConfigError, match="settings.identify"):
        made(method="standard", settings={"identify": {}})


def test_a_module_is_named_and_has_no_width() -> None:
    config = made(backbone=nn.Identity(), width=0.123)
    assert config.net.backbone.endswith("Identity") and config.net.width != 0.123


def test_seeds_of_any_kind_are_numbers() -> None:
    assert made(random_state=np.int64(3)).train.seed == 3
    seeds = [made(random_state=np.random.RandomState(0)).train.seed for _ in range(2)]
    assert seeds[0] == seeds[1]


def test_a_run_of_warm_up_alone_is_refused() -> None:
    with pytest.raises(ConfigError, match="all 5 epochs are warm-up: no label would be judged; lower warmup_epochs"):
        made(epochs=5, warmup_epochs=5)


def test_numbers_of_numpy_and_paths_become_plain() -> None:
    found = plain_values({"a": {"b": np.float64(0.5), "c": Path("x") / "y"}, "d": np.int64(2), "e": "text"})
    assert found == {"a": {"b": 0.5, "c": str(Path("x") / "y")}, "d": 2, "e": "text"}
    assert type(found["d"]) is int


FEATURES = (
    ARGUMENTS | dict.fromkeys(("epochs", "width", "learning_rate", "batch_size")) | {"frozen": False, "whole": None}
)


def on_rows(rows: int = 200, **changes: Any) -> RunConfig:
    return estimator_config_on_features(FEATURES | changes, rows)


def test_none_stands_for_what_suits_images() -> None:
    config = made(**dict.fromkeys(("epochs", "width", "learning_rate", "batch_size")))
    assert (config.train.epochs, config.train.batch_size, config.net.width) == (100, 128, 1.0)
    assert (config.optimiser.learning_rate, config.settings.warmup_epochs) == (0.05, 20)


def test_none_stands_for_what_suits_features() -> None:
    config = on_rows()
    own = on_features(200, seed=7)
    assert (config.net, config.settings, config.optimiser, config.train) == (
        own.net, own.settings, own.optimiser, own.train
    )  # fmt: skip
    assert config.data == RunConfig().data


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_configuration_on_features(name: str) -> None:
    for frozen, backbone in ((False, ""), (True, "efficientnet-lite0"), ("timm:resnet18", "timm:resnet18")):
        config = on_rows(method=name, frozen=frozen)
        assert (config.method, config.net.backbone, config.train.epochs, config.train.seed) == (name, "features", 9, 7)
        assert config.data.frozen.backbone == backbone and not config.data.source
        assert config.train.max_steps == 0
        assert not config.data.frozen.whole and config.data.frozen.limit == (2 if frozen else math.inf)
    for whole in (True, False):
        found = on_rows(method=name, frozen=True, whole=whole).data.frozen
        assert (found.whole, found.limit) == (whole, math.inf)


def test_what_is_given_wins_on_features() -> None:
    config = on_rows(
        width=0.25, epochs=12, warmup_epochs=5, batch_size=17, learning_rate=0.1, settings={"identify": {"top": 2}}
    )
    assert (config.net.width, config.train.epochs, config.train.batch_size) == (0.25, 12, 17)
    assert (config.optimiser.learning_rate, config.optimiser.constant_epochs) == (0.1, 5)
    assert (config.settings.warmup_epochs, config.settings.identify.top) == (5, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backbone": "efficientnet-lite0"}, "backbone is for images"),
        ({"epochs": "4"}, "epochs is '4'"),
        ({"frozen": 3}, "frozen is 3"),
        ({"warmup_epochs": 9}, "all 9 epochs are warm-up"),
    ],
)
def test_refusals_on_features(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        on_rows(**{"frozen": True, **changes})


def test_epochs_that_are_no_number_are_named() -> None:
    with pytest.raises(ConfigError, match="epochs is 'ten'; it must be a whole number"):
        made(epochs="ten")
