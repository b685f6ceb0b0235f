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
from lond.presets.scaling import with_method
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings

OWN_IDENTIFY = IdentifySettings(neighbours=80, top=1, clean_quantile=0.5)
"""The paper's web column, for noise that nobody has measured: its own web sets and a user's images."""


def cifar(benchmark: str, kind: NoiseKind, rate: float) -> RunConfig:
    """Return the paper's CIFAR column: K = 3 for symmetric, 1 for asymmetric noise."""
    noise = NoiseSettings(kind=kind, closed_rate=rate)
    identify = IdentifySettings(top=3 if kind == "symmetric" else 1)
    return RunConfig(
        data=DataSettings(BenchmarkSettings(benchmark, noise=noise)), settings=LondDrsSettings(identify=identify)
    )


def web(benchmark: str) -> RunConfig:
    """Return the paper's web column: ResNet50 with ImageNet weights at 448 pixels."""
    return RunConfig(
        data=DataSettings(BenchmarkSettings(benchmark)),
        net=NetSettings("timm:resnet50", pretrained=True),
        views=ViewSettings(strong="randaugment"),
        settings=LondDrsSettings(warmup_epochs=10, identify=OWN_IDENTIFY, mixup=0.5, warmup_prototype_weight=10.0),
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


_CIFAR_NOISE: dict[str, tuple[NoiseKind, float]] = {
    "sym20": ("symmetric", 0.2),
    "sym50": ("symmetric", 0.5),
    "sym80": ("symmetric", 0.8),
    "asym40": ("asymmetric", 0.4),
}

PRESETS: dict[str, RunConfig] = {
    **{
        f"{benchmark}-{name}": cifar(benchmark, *noise)
        for benchmark in ("cifar10n", "cifar80n", "cifar100n")
        for name, noise in _CIFAR_NOISE.items()
    },
    **{benchmark: web(benchmark) for benchmark in ("web-aircraft", "web-bird", "web-car")},
    "mini80-sym50": mini80("symmetric", 0.5),
    "mini80-asym40": mini80("asymmetric", 0.4),
    "digits": digits(),
}
"""Preset name -> configuration of LOND-DRS; ``preset`` puts another method in its place."""


MINI80_STEPS = {"dividemix": 60, "unicon": 35, "nce": 30, "cir-plus": 50}
"""Steps of a phase after warm-up on mini80, for methods whose published epochs take too long on two CPU cores."""


def preset(name: str, method: str | type[Method] = "lond-drs") -> RunConfig:
    """Return a preset by name, for any method: its name, or a class of one's own.

    >>> preset("cifar80n-sym20", "dividemix").data.benchmark.noise.closed_rate
    0.2

    Raises:
        ConfigError: there is no such preset or method.
    """
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; choose one of: {', '.join(PRESETS)}")
    method = ALL_METHODS.name_of(method)
    config = with_method(PRESETS[name], method)
    if config.data.benchmark.name == "mini80" and method in MINI80_STEPS:
        config = replace(config, train=replace(config.train, max_steps=MINI80_STEPS[method]))
    return config
