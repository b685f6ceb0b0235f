"""Which settings make a run what it is: hashes that do not change when a later version adds a setting."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from lond.config import RunConfig, former_defaults, settings_class, to_dict
from lond.io.plain_values import flat
from lond.presets.benchmarks import preset_of
from lond.results.naming import data_of
from lond.results.records import SEEDS, DataPart, Record
from lond.runs.folder import PLACES

PATHS = {
    *PLACES,
    "data.benchmark.open_source",
    "data.source",
    "data.test_source",
    "data.read.root",
    "data.frozen.checkpoint_path",
    "net.checkpoint_path",
}
"""Settings that hold a path; of what lies there the fingerprints tell."""

BENCHMARK = "data.benchmark."


def stored_config(config: RunConfig) -> dict[str, Any]:
    """Return all settings but paths, nested."""
    return _pruned(to_dict(config))


@cache
def variant_of(config: RunConfig) -> str:
    """Return the hash of the settings without seeds and paths; repetitions of one run share it."""
    chosen = {key: value for key, value in _chosen(config).items() if key not in SEEDS}
    return _hash(chosen | {"open source": Path(config.data.benchmark.open_source).stem})


def identity_of(config: RunConfig, fingerprint: Mapping[str, DataPart]) -> str:
    """Return the hash of the settings, seeds included, and of the data."""
    return _hash({"settings": _chosen(config), "data": {name: asdict(part) for name, part in fingerprint.items()}})


def repetitions_of(config: RunConfig, records: Iterable[Record]) -> list[Record]:
    """Return the records of a configuration: the same settings and data set, whatever their seeds."""
    variant, data = variant_of(config), data_of(config, preset_of(config))
    return [record for record in records if (record.variant, record.data) == (variant, data)]


def runs_of(
    config: RunConfig, records: Iterable[Record], fingerprint: Mapping[str, DataPart] | None = None
) -> list[Record]:
    """Return the repetitions of a configuration that have its seeds, too.

    Args:
        config: the run that is wanted.
        records: of a store.
        fingerprint: of its data, if they are at hand; else the name of the data set decides.
    """
    wanted = (config.train.seed, config.data.split_seed)
    return [
        record
        for record in repetitions_of(config, records)
        if (record.seeds.training, record.seeds.split) == wanted
        and record.seeds.noise in (None, config.data.benchmark.noise.seed)
        and (fingerprint is None or record.fingerprint == fingerprint)
    ]


def changed_settings(config: RunConfig, baseline: RunConfig) -> dict[str, Any]:
    """Return the settings of a run, by dotted key, that differ from another configuration; seeds and paths aside."""
    own, other = flat(to_dict(config)), flat(to_dict(baseline))
    aside = {*SEEDS, *PATHS}
    return {key: value for key, value in own.items() if key not in aside and other.get(key) != value}


def _chosen(config: RunConfig) -> dict[str, Any]:
    """Return the settings that are not at the method's first defaults.

    One added later changes nothing while it stands for what was done before.
    """
    first = settings_class(config.method)(**former_defaults(config.method))
    default = RunConfig(method=config.method, settings=first)
    settings = flat(to_dict(config))
    chosen = changed_settings(config, default) | {key: settings[key] for key in SEEDS}
    if config.data.source:
        chosen = {key: value for key, value in chosen.items() if not key.startswith(BENCHMARK)} | {"own data": True}
    return {"method": config.method, **chosen}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


def _pruned(content: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    return {
        key: _pruned(value, f"{where}{key}.") if isinstance(value, Mapping) else value
        for key, value in content.items()
        if f"{where}{key}" not in PATHS
    }
