"""What a run is called, from its configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from results.run_samples import small

from lond.config import RunConfig
from lond.presets.benchmarks import preset
from lond.presets.features import on_features, on_frozen
from lond.results.naming import data_of, noise_of, scale_of


def with_data(config: RunConfig, **changes: Any) -> RunConfig:
    return replace(config, data=replace(config.data, **changes))


def with_images(source: str, count: int) -> RunConfig:
    config = preset("cifar100n-sym50")
    return with_data(config, benchmark=replace(config.data.benchmark, open_source=source, open_images=count))


def test_data_are_called_by_their_benchmark_or_folder() -> None:
    assert data_of(preset("digits"), "digits") == "digits"
    own = with_data(preset("digits"), source="pictures/my photos")
    assert data_of(own, "") == "my photos"
    assert data_of(own, "cifar80n-sym80") == "cifar80n"
    assert data_of(with_data(own, source="."), "") == "own"
    assert data_of(with_data(own, source="own.npz"), "") == "own"


def test_images_added_to_a_benchmark_are_in_its_name() -> None:
    assert data_of(with_images("data/tinyimagenet", 10_000), "") == "cifar100n+tinyimagenet-10k"
    assert data_of(with_images("data/places.npz", 1500), "") == "cifar100n+places-1500"


@pytest.mark.parametrize(
    ("drawn", "name", "noise"),
    [
        ({"kind": "symmetric", "closed_rate": 0.5}, "", "sym50"),
        ({"kind": "asymmetric", "closed_rate": 0.125}, "digits", "asym12.5"),
        ("the data's own", "", ""),
        ("the data's own", "web-bird", ""),
        (None, "cifar80n-asym40", "asym40"),
    ],
)
def test_noise_is_that_of_the_manifest_or_else_of_the_preset(drawn: object, name: str, noise: str) -> None:
    assert noise_of(drawn, name) == noise


@pytest.mark.parametrize(
    ("config", "name", "scale"),
    [
        (preset("cifar80n-sym80"), "cifar80n-sym80", "full"),
        (preset("mini80-asym40", "sed"), "mini80-asym40", "mini"),
        (small(epochs=29), "mini80-sym50", "smoke"),
        (small(epochs=10), "mini80-sym50", "mini"),  # its warm-up alone
        (small(epochs=30, max_steps=1), "mini80-sym50", "smoke"),
        (small(epochs=31), "", "mini"),
        (with_data(preset("digits"), source="pictures"), "", "own"),
        (on_frozen(preset("cifar80n-sym80")), "cifar80n-sym80", "frozen"),
        (on_features(100), "", "frozen"),
    ],
)
def test_the_scale_is_as_far_as_settings_tell(config: RunConfig, name: str, scale: str) -> None:
    assert scale_of(config, name) == scale
