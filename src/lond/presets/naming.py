"""What a run is called: its preset, data set, noise and scale, from its configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lond.config import RunConfig
from lond.data.noise import NoiseSettings
from lond.errors import ConfigError
from lond.presets.benchmarks import MINI80_STEPS, PRESETS, mini80
from lond.presets.benchmarks import preset as preset_config
from lond.presets.features import on_frozen
from lond.presets.scaling import FULL_SCALE, with_method
from lond.results.records import Scale

WEB = "web-"


def preset_of(config: RunConfig, given: str = "") -> str:
    """Return the preset with the run's data and noise, "" if there is none.

    Raises:
        ConfigError: the given one is unknown, or of other data.
    """
    if given:
        wanted = preset_config(given).data.benchmark
        if not config.data.source and _key(wanted) != _key(config.data.benchmark):
            raise ConfigError(f"the run is not one of preset {given}: its data or noise are other ones")
        return given
    if config.data.source:
        return ""
    own = _key(config.data.benchmark)
    return next((name for name, preset in PRESETS.items() if _key(preset.data.benchmark) == own), "")


def _key(benchmark: Any) -> tuple[Any, ...]:
    """Return what tells presets apart; the web sets have no noise of ours."""
    name = benchmark.name
    return (name,) if name.startswith(WEB) else (name, benchmark.noise.kind, benchmark.noise.closed_rate)


def baseline_of(config: RunConfig, preset: str) -> RunConfig | None:
    """Return the configuration that a run is a change of: its preset, or mini80 with its noise; None if unknown."""
    if config.data.source:
        return None
    if preset:
        plain = preset_config(preset, config.method)
    elif config.data.benchmark.name == "mini80":
        plain = mini80_of(config.data.benchmark.noise, config.method)
    elif config.data.benchmark.name == "digits":
        plain = preset_config("digits", config.method)
    else:
        return None
    return on_frozen(plain) if config.data.frozen.backbone else plain


def mini80_of(noise: NoiseSettings, method: str) -> RunConfig:
    """Return the reduced CIFAR80N with any noise, for any method; presets name two noises only."""
    config = with_method(mini80(noise.kind, noise.closed_rate), method)
    steps = MINI80_STEPS.get(method, 0)
    return replace(config, train=replace(config.train, max_steps=steps)) if steps else config


def data_of(config: RunConfig, preset: str) -> str:
    """Return the name of the data set: a benchmark's, with the images added to it, or that of one's own folder."""
    data, benchmark = config.data, config.data.benchmark
    if data.source:
        return preset_config(preset).data.benchmark.name if preset else Path(data.source).stem or "own"
    if not benchmark.open_images:
        return benchmark.name
    thousands, rest = divmod(benchmark.open_images, 1000)
    count = str(benchmark.open_images) if rest else f"{thousands}k"
    return f"{benchmark.name}+{Path(benchmark.open_source).stem}-{count}"


def noise_of(drawn: object, preset: str) -> str:
    """Return the name of the noise, e.g. "sym50"; "" for the data's own.

    Args:
        drawn: the settings of the noise that a manifest holds, or a text in their place.
        preset: name of the preset, for a manifest that holds none.
    """
    if not isinstance(drawn, dict):
        benchmark = preset_config(preset).data.benchmark if preset else None
        if benchmark is None or benchmark.name.startswith(WEB):
            return ""
        drawn = vars(benchmark.noise)
    kind = {"symmetric": "sym", "asymmetric": "asym"}[drawn["kind"]]
    return f"{kind}{100 * drawn['closed_rate']:g}"


def _is_cut(config: RunConfig, whole: RunConfig) -> bool:
    """Tell whether a run is shorter than what it is a change of; one that is its warm-up alone is not cut."""
    own, steps = config.train, whole.train.max_steps
    warmup = getattr(whole.settings, "warmup_epochs", 0)
    only_warmup = own.epochs == warmup == getattr(config.settings, "warmup_epochs", 0)
    shorter = own.epochs < whole.train.epochs and not only_warmup
    return shorter or bool(own.max_steps and not 0 < steps <= own.max_steps)


def scale_of(config: RunConfig, preset: str) -> Scale:
    """Return the scale, as far as settings tell: a run shorter than its preset counts as "smoke"."""
    if config.data.frozen.backbone or config.net.backbone == "features":
        return "frozen"
    if config.data.source:
        return "own"
    whole = baseline_of(config, preset)
    if whole is not None and _is_cut(config, whole):
        return "smoke"
    return "full" if config.data.benchmark.name in FULL_SCALE else "mini"
