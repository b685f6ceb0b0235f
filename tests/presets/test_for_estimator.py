"""From the estimator's arguments to a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from lond.config import RunConfig
from lond.errors import ConfigError
from lond.presets.for_estimator import estimator_config, plain_values

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
