from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lond.config import RunConfig
from lond.data.benchmarks import BENCHMARKS
from lond.errors import ConfigError, DataError
from lond.methods import METHODS
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.changes import with_epochs
from lond.presets.own_data import own_batch, own_data
from lond.presets.scaling import with_method
from lond.train.schedule import learning_rate

CIFAR = [
    f"{name}-{noise}"
    for name in ("cifar10n", "cifar80n", "cifar100n")
    for noise in ("sym20", "sym50", "sym80", "asym40")
]
WEB = ["web-aircraft", "web-bird", "web-car"]


def shared_values(config: RunConfig) -> None:
    settings, optimiser = config.settings, config.optimiser
    assert config.method == "lond-drs"
    assert (optimiser.name, optimiser.nesterov, optimiser.momentum, optimiser.weight_decay) == ("sgd", True, 0.9, 5e-4)
    assert (settings.consistency_weight, settings.contrastive_weight) == (0.5, 0.3)
    assert (settings.sharpening, settings.temperature, settings.identify.temperature) == (0.5, 0.1, 0.1)
    assert settings.embedding_size == 128
    assert settings.identify.open_share == 0.1
    assert settings.identify.include_self
    assert settings.ramp_epochs == 16
    assert settings.refine_clean_targets
    assert config.train.average_last == 10


def rates(config: RunConfig) -> list[float]:
    return [learning_rate(epoch, config.train.epochs, config.optimiser) for epoch in range(config.train.epochs)]


@pytest.mark.parametrize("name", CIFAR)
def test_the_papers_cifar_column(name: str) -> None:
    config = PRESETS[name]
    shared_values(config)
    settings = config.settings
    assert (config.train.epochs, settings.warmup_epochs, config.train.batch_size) == (300, 50, 128)
    assert rates(config)[:50] == [0.05] * 50
    assert rates(config)[50] < 0.05
    assert rates(config)[-1] == pytest.approx(5e-5)
    assert settings.mixup == 1
    assert (settings.identify.neighbours, settings.identify.clean_quantile) == (200, 0.9)
    assert settings.identify.top == (1 if "asym" in name else 3)
    assert settings.warmup_prototype_weight == 0
    assert (config.net.backbone, config.net.width) == ("seven-layer", 1.0)


@pytest.mark.parametrize("name", WEB)
def test_the_papers_web_column(name: str) -> None:
    config = PRESETS[name]
    shared_values(config)
    settings = config.settings
    assert (config.train.epochs, settings.warmup_epochs, config.train.batch_size) == (120, 10, 64)
    assert rates(config)[:10] == [0.005] * 10
    assert rates(config)[-1] == pytest.approx(5e-5)
    assert settings.mixup == 0.5
    assert (settings.identify.neighbours, settings.identify.clean_quantile, settings.identify.top) == (80, 0.5, 1)
    assert settings.warmup_prototype_weight == 10
    assert (config.net.backbone, config.net.pretrained) == ("timm:resnet50", True)
    assert config.data.benchmark.image_size == 448


NOISE = [
    ("sym20", "symmetric", 0.2),
    ("sym50", "symmetric", 0.5),
    ("sym80", "symmetric", 0.8),
    ("asym40", "asymmetric", 0.4),
]


@pytest.mark.parametrize(("name", "kind", "rate"), NOISE)
def test_the_noise_is_what_the_name_says(name: str, kind: str, rate: float) -> None:
    for benchmark in ("cifar10n", "cifar80n", "cifar100n"):
        noise = PRESETS[f"{benchmark}-{name}"].data.benchmark.noise
        assert (noise.kind, noise.closed_rate) == (kind, rate)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_names_a_benchmark_and_leaves_epochs_after_warmup(name: str) -> None:
    config = PRESETS[name]
    assert config.data.benchmark.name in BENCHMARKS
    assert not config.data.source
    assert config.settings.warmup_epochs < config.train.epochs
    # The rate of the long runs begins to fall as early as that of the short ones, to 2 % below by the end of warm-up.
    constant = 10 if name.startswith("mini80-long") else config.settings.warmup_epochs
    assert config.optimiser.constant_epochs == constant


@pytest.mark.parametrize("method", METHODS)
def test_a_preset_serves_every_method(method: str) -> None:
    config = preset("cifar80n-sym20", method)
    assert config.method == method
    assert isinstance(config.settings, METHODS[method].settings_class)
    assert config.data == PRESETS["cifar80n-sym20"].data
    assert with_method(config, method) is config


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no preset 'cifar'.*cifar80n-sym50"):
        preset("cifar")
    with pytest.raises(ConfigError, match=r"no method 'magic'.*lond-drs"):
        preset("digits", "magic")


def save_images(path: Path, height: int, width: int) -> str:
    images = np.random.RandomState(0).randint(0, 255, (6, height, width, 3)).astype(np.uint8)
    np.savez(path, x=images, y=[0, 1, 0, 1, 0, 1])
    return str(path)


@pytest.mark.parametrize(("side", "padding"), [(4, 1), (16, 2), (32, 4), (64, 8)])
def test_small_images_of_ones_own_are_learned_from_scratch(tmp_path: Path, side: int, padding: int) -> None:
    source = save_images(tmp_path / "small.npz", side, side)
    config = own_data(source, "elsewhere")
    assert (config.data.source, config.data.test_source, config.data.read.size) == (source, "elsewhere", side)
    assert (config.net.backbone, config.net.pretrained) == ("seven-layer", False)
    assert config.views.padding == padding
    identify = config.settings.identify
    assert (identify.neighbours, identify.top, identify.clean_quantile) == (80, 1, 0.5)
    assert config.optimiser.constant_epochs == config.settings.warmup_epochs < config.train.epochs


def test_large_images_of_ones_own_start_from_imagenet_weights(tmp_path: Path) -> None:
    source = save_images(tmp_path / "large.npz", 65, 90)
    config = own_data(source)
    assert config.data.read.size == 65
    assert (config.net.backbone, config.net.pretrained) == ("efficientnet-lite0", True)
    assert config.views.strong == "randaugment"
    assert config.optimiser.learning_rate == 0.005
    assert config.settings.warmup_prototype_weight == 10
    assert config.settings.warmup_epochs < config.train.epochs


def test_ones_own_data_must_exist(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file or folder"):
        own_data(str(tmp_path / "missing"))


def test_another_length_keeps_the_shares() -> None:
    config = with_epochs(preset("cifar80n-sym80"), 30)
    assert (config.train.epochs, config.settings.warmup_epochs, config.settings.ramp_epochs) == (30, 5, 2)
    assert config.optimiser.constant_epochs == 5
    assert with_epochs(preset("cifar80n-sym80"), 1).settings.warmup_epochs == 1
    assert with_epochs(preset("digits", "standard"), 12).train.epochs == 12


def test_the_same_length_changes_nothing() -> None:
    config = preset("mini80-sym50")
    assert with_epochs(config, config.train.epochs) == config


@pytest.mark.parametrize(
    ("images", "usual", "batch"), [(239, 128, 32), (1600, 128, 100), (9000, 128, 128), (900, 64, 56)]
)
def test_small_sets_get_smaller_batches(images: int, usual: int, batch: int) -> None:
    assert own_batch(images, usual) == batch
