"""LOND-DRS's published values, and those of short runs."""

from __future__ import annotations

import pytest

from lond.presets.recipes.base import FeatureRun, Occasion
from lond.presets.recipes.lond_drs import OWN_IDENTIFY, recipe, short_settings


@pytest.mark.parametrize(("noise", "top"), [("symmetric", 3), ("asymmetric", 1)])
def test_cifar(noise: str, top: int) -> None:
    found = recipe(Occasion(noise, 0.4, "cifar80n"))  # type: ignore[arg-type]
    assert found.settings.identify.top == top
    assert (found.optimiser, found.epochs, found.batch_size, found.strong) == (None,) * 4
    assert found.step_limits == {"frozen": 100}


def test_web() -> None:
    settings = recipe(Occasion()).settings
    assert (settings.warmup_epochs, settings.mixup, settings.warmup_prototype_weight) == (10, 0.5, 10.0)
    assert settings.identify == OWN_IDENTIFY
    assert (OWN_IDENTIFY.neighbours, OWN_IDENTIFY.top, OWN_IDENTIFY.clean_quantile) == (80, 1, 0.5)


def test_a_third_of_a_short_run_is_warm_up() -> None:
    found = [short_settings(10_000, epochs) for epochs in (1, 9, 11)]
    assert [(one.warmup_epochs, one.ramp_epochs, one.witness) for one in found] == [
        (1, 1, True), (3, 3, True), (3, 3, True),
    ]  # fmt: skip
    assert [short_settings(images, 9).identify.neighbours for images in (3, 99, 800, 801)] == [1, 9, 80, 80]


@pytest.mark.parametrize("is_own", [True, False])
def test_on_features_it_identifies_and_mixes_as_published(is_own: bool) -> None:
    found = recipe(Occasion("symmetric", 0.5, "cifar80n"))
    short = found.on_features(found.settings, FeatureRun(120, 6, is_own))
    assert (short.identify.top, short.identify.neighbours) == (3, 12)
    assert (short.mixup, short.warmup_prototype_weight) == (
        found.settings.mixup, found.settings.warmup_prototype_weight,
    )  # fmt: skip
    assert (short.warmup_epochs, short.ramp_epochs, short.witness) == (2, 2, is_own)
