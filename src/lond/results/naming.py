"""What a run is called: its data set, noise and scale, from its configuration."""

from __future__ import annotations

from pathlib import Path

from lond.config import RunConfig
from lond.presets.benchmarks import baseline_of
from lond.presets.benchmarks import preset as preset_config
from lond.presets.scaling import FULL_SCALE
from lond.results.records import Scale


def data_of(config: RunConfig, preset: str) -> str:
    """Return the name of the data set: a benchmark's, with the images added to it, or that of your own folder."""
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
        if benchmark is None or benchmark.name.startswith("web-"):
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
