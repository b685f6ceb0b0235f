"""Every method's published settings, shortened for frozen features, train and end at the asked length."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from methods.test_on_features import clouds

from lond.errors import ConfigError
from lond.methods import METHODS
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.changes import declared
from lond.presets.features import on_features, on_frozen
from lond.presets.recipes.lond_drs import OWN_IDENTIFY
from lond.runs import train_samples
from lond.train.runtime import RuntimeSettings
from lond.types import Epochs, FirstEpochs

STEPS = {"lond-drs": 100, "lond-drs-fast": 100, "cir-plus": 225, "dividemix": 150, "nce": 150, "unicon": 150}
"""Limits on features of a benchmark."""
OTHERS = sorted(set(METHODS) - {"lond-drs"})


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("scale", ["cifar80n-sym20", "web-bird"])
def test_every_method_trains_two_epochs(name: str, scale: str) -> None:
    config = on_frozen(preset(scale, name), epochs=2, images=60)
    assert config.data.frozen.backbone == "efficientnet-lite0"
    samples = clouds()
    trained = train_samples(config, samples, samples, None, RuntimeSettings("cpu", threads=1))
    assert len(trained.result.history) == 2
    assert math.isfinite(trained.result.metrics["loss"])
    assert torch.isfinite(trained.run.predict(samples).scores).all()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("scale", PRESETS)
def test_every_preset_becomes_a_short_run_on_features(name: str, scale: str) -> None:
    before = preset(scale, name)
    before = replace(before, train=replace(before.train, seed=5))
    config = on_frozen(before)
    assert (config.method, type(config.settings)) == (name, METHODS[name].settings_class)
    assert (config.net.backbone, config.net.width, config.net.pretrained) == ("features", 0.5, False)
    assert (config.train.epochs, config.train.average_last, config.train.seed) == (9, 3, 5)
    assert config.train.batch_size == (59 if scale == "digits" else 256)
    assert config.train.max_steps == STEPS.get(name, 0)
    own = replace(before, data=replace(before.data, source="own"))
    assert on_frozen(own, images=1000).train.max_steps == 0
    assert replace(config.data, frozen=before.data.frozen) == before.data
    assert getattr(config.settings, "warmup_epochs", 0) < 9
    assert config.optimiser.constant_epochs < 9
    assert all(step < 9 for step in config.optimiser.milestones)
    assert all(0 < length <= 9 for length in declared(config.settings, Epochs, FirstEpochs).values())


@pytest.mark.parametrize("scale", ["cifar80n-sym20", "cifar80n-asym40", "cifar100n-sym80", "web-car", "mini80-sym50"])
def test_lond_drs_identifies_as_the_paper_says_and_learns_as_on_features(scale: str) -> None:
    config, heads = on_frozen(preset(scale)), on_features(50_000)
    assert config.settings.identify == PRESETS[scale].settings.identify
    paper = PRESETS[scale].settings
    assert not config.settings.witness
    assert (config.settings.mixup, config.settings.warmup_prototype_weight) == (
        paper.mixup,
        paper.warmup_prototype_weight,
    )
    of_heads = {"mixup": heads.settings.mixup, "warmup_prototype_weight": heads.settings.warmup_prototype_weight}
    assert replace(config.settings, identify=OWN_IDENTIFY, witness=True, **of_heads) == heads.settings
    assert (config.optimiser, config.net, config.features) == (heads.optimiser, heads.net, heads.features)


def test_data_of_ones_own_are_scored_by_the_witness() -> None:
    config = preset("cifar80n-sym20")
    assert on_frozen(replace(config, data=replace(config.data, source="own")), images=1000).settings.witness


def test_few_images_get_small_batches_and_few_neighbours() -> None:
    config = on_frozen(preset("cifar80n-sym20"), images=400)
    assert (config.train.batch_size, config.settings.identify.neighbours) == (20, 40)
    assert config.settings.identify.top == 3


def test_rates_go_with_the_batch() -> None:
    # 0.02 at 128, 0.15 at 512 and 0.001 of Adam, whatever the batch.
    for name, rate in (("dividemix", 0.04), ("ngc", 0.075), ("co-teaching", 0.001)):
        assert on_frozen(preset("cifar80n-sym20", name)).optimiser.learning_rate == pytest.approx(rate)
    assert on_frozen(preset("cifar80n-sym20", "standard")).optimiser == on_features(50_000).optimiser


def test_plans_by_hand() -> None:
    # A third is warm-up; DivideMix steps down after (150 - 30) / 270 of the other six epochs.
    dividemix = on_frozen(preset("cifar80n-sym20", "dividemix"))
    assert (dividemix.settings.warmup_epochs, dividemix.settings.ramp_epochs) == (3, 3)
    assert dividemix.optimiser.milestones == (6,)
    # NPN's warm-up is two thirds of its run.
    npn = on_frozen(preset("cifar80n-sym20", "npn-hard"), epochs=12)
    assert (npn.settings.warmup_epochs, npn.optimiser.constant_epochs) == (8, 8)
    assert on_frozen(preset("cifar80n-sym20", "cir-plus")).settings.rotation_weight == 0


def test_a_network_that_is_named_already_stays() -> None:
    start = preset("cifar80n-sym20", "sed")
    named = replace(start.data, frozen=replace(start.data.frozen, backbone="timm:resnet18", size=64, cache="there"))
    assert on_frozen(replace(start, data=named)).data == named


@pytest.mark.parametrize("name", ["lond-drs", "disc"])
def test_a_run_of_no_epochs_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="at least 1 epoch"):
        on_frozen(preset("digits", name), epochs=0)
