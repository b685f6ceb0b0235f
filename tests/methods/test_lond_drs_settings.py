"""Settings of LOND-DRS: the paper's values, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from lond.errors import ConfigError
from lond.methods import LondDrsSettings, Savings


def test_the_papers_values() -> None:
    settings = LondDrsSettings()
    assert (settings.warmup_epochs, settings.mixup, settings.temperature, settings.sharpening) == (50, 1, 0.1, 0.5)
    assert (settings.consistency_weight, settings.contrastive_weight, settings.embedding_size) == (0.5, 0.3, 128)
    assert (settings.details, settings.mixed_pairs, settings.savings) == ("ours", "major", Savings())


@pytest.mark.parametrize(
    "values",
    [
        {"warmup_epochs": -1},
        {"ramp_epochs": -1},
        {"mixup": -0.1},
        {"temperature": 0.0},
        {"sharpening": 0.0},
        {"mixed_pairs": "both"},
        {"details": "0.1.0"},
    ],
)
def test_settings_that_mean_nothing_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        LondDrsSettings(**values)


def test_nothing_to_learn_from_is_refused() -> None:
    weights = {"one_vs_all_weight": 0.0, "prototype_weight": 0.0, "pseudo_label_weight": 0.0}
    with pytest.raises(ConfigError, match="must not all be 0"):
        LondDrsSettings(**weights)
    with pytest.raises(ConfigError, match="negative"):
        LondDrsSettings(one_vs_all_weight=-1.0)


@pytest.mark.parametrize("name", ["identify_every", "contrast_every", "consistency_every"])
def test_every_term_comes_in_the_end(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be at least 1"):
        Savings(**{name: 0})


@pytest.mark.parametrize(
    "both",
    [
        {"contrast_on_supervised": True, "contrast_every": 2},
        {"consistency_on_supervised": True, "consistency_every": 2},
        {"survey_targets": True, "one_view_targets": True},
    ],
)
def test_savings_that_exclude_each_other(both: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="choose one of them"):
        Savings(**both)
