"""The paper's settings, and ours for small machines, by name."""

from __future__ import annotations

from dataclasses import replace

from lond.config import DataSettings, NetSettings, RunConfig
from lond.data.benchmarks import BenchmarkSettings
from lond.data.features import FeaturePixels
from lond.data.noise import NoiseKind, NoiseSettings
from lond.data.options import ReadOptions
from lond.data.sources import load
from lond.data.views import ViewSettings
from lond.errors import ConfigError
from lond.frozen.extractors import ExtractorSettings
from lond.identify import IdentifySettings
from lond.methods import LondDrsSettings
from lond.recipes import RECIPES
from lond.recipes.apply import occasion_of, shortened, slowed, with_method
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


def preset(name: str, method: str = "lond-drs") -> RunConfig:
    """Return a preset by name, for any method.

    Raises:
        ConfigError: there is no such preset or method.
    """
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; choose one of: {', '.join(PRESETS)}")
    config = with_method(PRESETS[name], method)
    if config.data.benchmark.name == "mini80" and method in MINI80_STEPS:
        config = replace(config, train=replace(config.train, max_steps=MINI80_STEPS[method]))
    return config


def on_features(images: int, epochs: int = 9, seed: int = 0) -> RunConfig:
    """Return settings for LOND-DRS on features of so many images, computed beforehand, of unknown noise.

    A narrow trunk, few epochs and the witness's score; chosen on training images of CIFAR80N that were held out.
    """
    warmup = max(1, epochs // 3)
    neighbours = min(OWN_IDENTIFY.neighbours, max(1, images // 10))
    return RunConfig(
        data=DataSettings(source="features"),
        net=NetSettings("features", width=0.5),
        settings=LondDrsSettings(
            warmup_epochs=warmup,
            ramp_epochs=max(1, epochs // 3),
            identify=replace(OWN_IDENTIFY, neighbours=neighbours),
            witness=True,
        ),
        optimiser=OptimiserSettings(learning_rate=0.02, constant_epochs=warmup),
        train=TrainSettings(epochs=epochs, batch_size=min(256, max(16, images // 20)), average_last=3, seed=seed),
    )


FROZEN_EPOCHS = 9
"""Epochs of every method on features of a frozen network."""

# A step costs, in steps of plain cross-entropy: Co-teaching(+) 1.3, NPN 2.1, NGC and SED 2.3, NCE 2.5, Jo-SRC 2.6,
# DivideMix 2.7, DISC and CIR+ 3.0, UNICON 3.1, LOND-DRS 9.5. An epoch has N / 256 steps of most methods (CIFAR: 196),
# N / 128 for each of two networks of DivideMix, NCE and UNICON, 900 for CIR+. The limits are about three minutes a run.
FROZEN_STEPS = {"lond-drs": 100, "cir-plus": 225, "dividemix": 150, "nce": 150, "unicon": 150}
"""Steps of a phase after warm-up on features of a benchmark: see above. Data of one's own are not limited."""

FROZEN_IMAGES = {"digits": 1198}
"""Training images of benchmarks that are too small for the usual batch on features."""


def on_frozen(config: RunConfig, epochs: int = FROZEN_EPOCHS, images: int = 0) -> RunConfig:
    """Return a preset of any method, or a configuration for data of one's own, for features of a frozen network.

    LOND-DRS takes the settings of ``on_features`` but identifies and mixes as the preset says, and scores by Eq. 15 on
    a benchmark, by the witness on data of one's own. Another method is shortened as for any reduced preset; its rates
    grow with the batch, and what needs images (the rotations of CIR+) is off.

    Args:
        config: data, method and seed; a frozen network that it names already is kept.
        epochs: of every method.
        images: number of training images, few of which get smaller batches and fewer neighbours; 0 = those of one's
            own data are counted.

    Raises:
        ConfigError: there is no epoch left, or the data are features already.
        DataError: the source cannot be read.
    """
    data, method = config.data, config.method
    if epochs < 1:
        raise ConfigError(f"a run needs at least 1 epoch, not {epochs}")
    if not data.frozen.backbone:
        data = replace(data, frozen=replace(data.frozen, backbone=ExtractorSettings.backbone))
    images = images or _count(data)
    heads = replace(on_features(images, epochs, config.train.seed), data=data)
    steps = 0 if data.source else FROZEN_STEPS.get(method, 0)
    train = replace(config.train, epochs=epochs, batch_size=heads.train.batch_size, average_last=3, max_steps=steps)
    if method == "lond-drs":
        own = config.settings
        settings = replace(
            heads.settings,
            identify=replace(own.identify, neighbours=min(own.identify.neighbours, max(1, images // 10))),
            mixup=own.mixup,
            warmup_prototype_weight=own.warmup_prototype_weight,
            # On a benchmark the published score is what is asked for.
            witness=bool(data.source),
        )
        return replace(heads, settings=settings, train=train)
    short = shortened(config, heads)
    settings = replace(short.settings, rotation_weight=0.0) if method == "cir-plus" else short.settings
    has_rates = RECIPES[method](occasion_of(config)).optimiser is not None
    optimiser = slowed(short.optimiser, train.batch_size / short.train.batch_size) if has_rates else heads.optimiser
    return replace(heads, method=method, settings=settings, optimiser=optimiser, train=train)


def _count(data: DataSettings) -> int:
    """Return the number of training images; for a benchmark that is not small, some large one."""
    if not data.source:
        return FROZEN_IMAGES.get(data.benchmark.name, 50_000)
    samples = load(data.source, options=data.read)
    if isinstance(samples.pixels, FeaturePixels):
        raise ConfigError(
            f"{samples.origin} holds features already; train on them as they are, without a frozen network"
        )
    return len(samples)


SMALL_IMAGE = 64
"""Images of at most this side are learned from scratch; larger ones start from ImageNet weights."""


def own_data(source: str, test_source: str = "") -> RunConfig:
    """Return settings for images of one's own, of unknown noise: the paper's web column, fitted to the image size.

    Raises:
        DataError: the source cannot be read.
    """
    samples = load(source)
    if isinstance(samples.pixels, FeaturePixels):
        heads = on_features(len(samples))
        return replace(heads, data=DataSettings(source=source, test_source=test_source, hold_out=0.1))
    side = min(samples.pixels.size)
    data = DataSettings(source=source, test_source=test_source, hold_out=0.1, read=ReadOptions(size=side))
    if side > SMALL_IMAGE:
        large = replace(web(""), data=data, net=NetSettings("efficientnet-lite0", pretrained=True))
        return replace(large, train=replace(large.train, epochs=40, batch_size=own_batch(len(samples), 64)))
    return RunConfig(
        data=data,
        views=ViewSettings(padding=max(1, side // 8)),
        settings=LondDrsSettings(warmup_epochs=20, identify=OWN_IDENTIFY),
        optimiser=OptimiserSettings(constant_epochs=20),
        train=TrainSettings(epochs=100, batch_size=own_batch(len(samples), 128)),
    )


def own_batch(images: int, usual: int) -> int:
    """Return the batch size for so many images: the usual one, less for small sets so that an epoch has some steps."""
    return min(usual, max(32, images // 16))
