"""The paper's settings, and ours for small machines, by name."""

from __future__ import annotations

from dataclasses import replace

from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.benchmarks import BenchmarkSettings
from lond.data.noise import NoiseKind, NoiseSettings
from lond.data.views import ViewSettings
from lond.errors import ConfigError
from lond.identify import IdentifySettings
from lond.methods import ALL_METHODS, LondDrsSettings, Method
from lond.presets.features import on_frozen
from lond.presets.recipes import Occasion
from lond.presets.recipes.lond_drs import recipe
from lond.presets.scaling import occasion_of, with_method
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings


def cifar(benchmark: str, kind: NoiseKind, rate: float) -> RunConfig:
    """Return the paper's CIFAR column."""
    noise = NoiseSettings(kind=kind, closed_rate=rate)
    settings = recipe(Occasion(kind, rate, benchmark)).settings
    return RunConfig(
        data=DataSettings(BenchmarkSettings(benchmark, noise=noise)),
        settings=settings,
    )


def web(benchmark: str) -> RunConfig:
    """Return the paper's web column: ResNet50 with ImageNet weights at 448 pixels."""
    return RunConfig(
        data=DataSettings(BenchmarkSettings(benchmark)),
        net=NetSettings("timm:resnet50", pretrained=True),
        views=ViewSettings(strong="randaugment"),
        settings=recipe(Occasion(benchmark=benchmark)).settings,
        optimiser=OptimiserSettings(learning_rate=0.005, constant_epochs=10),
        train=TrainSettings(epochs=120, batch_size=64),
    )


def mini80(kind: NoiseKind, rate: float) -> RunConfig:
    """Return the reduced CIFAR80N, the yardstick for small machines."""
    identify = IdentifySettings(neighbours=50, top=3 if kind == "symmetric" else 1)
    return RunConfig(
        data=DataSettings(BenchmarkSettings("mini80", noise=NoiseSettings(kind=kind, closed_rate=rate))),
        net=NetSettings(width=0.5),
        views=ViewSettings(padding=2),
        settings=LondDrsSettings(warmup_epochs=10, identify=identify),
        optimiser=OptimiserSettings(constant_epochs=10),
        train=TrainSettings(epochs=30, average_last=3),
    )


def mini80_long(kind: NoiseKind, rate: float) -> RunConfig:
    """Return the reduced CIFAR80N in 120 epochs: plain training memorises, and the warm-up has its published share.

    LOND-DRS lowers its rate after 10 epochs, as in the short run: by 2 % up to the end of the warm-up.
    """
    short = mini80(kind, rate)
    return replace(
        short,
        settings=replace(short.settings, warmup_epochs=20),
        train=replace(short.train, epochs=120),
    )


def digits() -> RunConfig:
    """Return the demonstration on scikit-learn's digits: 40 % symmetric noise, 8 and 9 unknown."""
    return RunConfig(
        data=DataSettings(BenchmarkSettings("digits", noise=NoiseSettings(closed_rate=0.4))),
        net=NetSettings(width=0.25),
        views=ViewSettings(padding=2, flip=False, strong="geometric"),
        settings=LondDrsSettings(warmup_epochs=8, identify=IdentifySettings(neighbours=20), ramp_epochs=8),
        optimiser=OptimiserSettings(constant_epochs=8),
        train=TrainSettings(epochs=24, batch_size=64, average_last=3),
    )


PRESETS: dict[str, RunConfig] = {
    "cifar10n-sym20": cifar("cifar10n", "symmetric", 0.2),
    "cifar10n-sym50": cifar("cifar10n", "symmetric", 0.5),
    "cifar10n-sym80": cifar("cifar10n", "symmetric", 0.8),
    "cifar10n-asym40": cifar("cifar10n", "asymmetric", 0.4),
    "cifar80n-sym20": cifar("cifar80n", "symmetric", 0.2),
    "cifar80n-sym50": cifar("cifar80n", "symmetric", 0.5),
    "cifar80n-sym80": cifar("cifar80n", "symmetric", 0.8),
    "cifar80n-asym40": cifar("cifar80n", "asymmetric", 0.4),
    "cifar100n-sym20": cifar("cifar100n", "symmetric", 0.2),
    "cifar100n-sym50": cifar("cifar100n", "symmetric", 0.5),
    "cifar100n-sym80": cifar("cifar100n", "symmetric", 0.8),
    "cifar100n-asym40": cifar("cifar100n", "asymmetric", 0.4),
    "web-aircraft": web("web-aircraft"),
    "web-bird": web("web-bird"),
    "web-car": web("web-car"),
    "mini80-sym50": mini80("symmetric", 0.5),
    "mini80-asym40": mini80("asymmetric", 0.4),
    "mini80-long-sym50": mini80_long("symmetric", 0.5),
    "mini80-long-asym40": mini80_long("asymmetric", 0.4),
    "digits": digits(),
}
"""Preset name -> configuration of LOND-DRS; ``preset`` puts another method in its place."""


def preset(name: str, method: str | type[Method] = "lond-drs") -> RunConfig:
    """Return a preset by name, for any method, given by name or as your own class.

    Examples:
        >>> preset("cifar80n-sym20", "dividemix").data.benchmark.noise.closed_rate
        0.2

    Raises:
        ConfigError: there is no such preset or method.
    """
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; choose one of: {', '.join(PRESETS)}")
    return with_method(PRESETS[name], ALL_METHODS.name_of(method))


def preset_of(config: RunConfig, given: str = "") -> str:
    """Return the preset with the run's data and noise, "" if there is none.

    Raises:
        ConfigError: the given one is unknown, or of other data.
    """
    if given:
        wanted = occasion_of(preset(given))
        if not config.data.source and occasion_of(config) != wanted:
            raise ConfigError(f"the run is not one of preset {given}: its data or noise are other ones")
        return given
    if config.data.source:
        return ""
    own = occasion_of(config)
    return next((name for name, one in PRESETS.items() if occasion_of(one) == own), "")


def baseline_of(config: RunConfig, name: str) -> RunConfig | None:
    """Return the configuration that a run is a change of: its preset, or mini80 with its noise; None if unknown."""
    benchmark = config.data.benchmark
    if config.data.source:
        return None
    if name or benchmark.name in PRESETS:
        plain = preset(name or benchmark.name, config.method)
    elif benchmark.name == "mini80":
        plain = with_method(mini80(benchmark.noise.kind, benchmark.noise.closed_rate), config.method)
    else:
        return None
    return on_frozen(plain) if config.data.frozen.backbone else plain
