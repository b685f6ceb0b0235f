"""All run configurations: benchmarks, your own data, frozen features, recipes and scales."""

from lond.presets.benchmarks import PRESETS, preset
from lond.presets.features import on_features, on_frozen
from lond.presets.own_data import own_data

__all__ = ["PRESETS", "on_features", "on_frozen", "own_data", "preset"]
