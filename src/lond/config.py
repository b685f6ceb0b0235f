"""Settings to and from plain dictionaries; an unknown key or a value of the wrong type is an error."""

from __future__ import annotations

import dataclasses
import difflib
import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from lond.data.benchmarks import BenchmarkSettings
from lond.data.feature_views import FeatureViewSettings
from lond.data.options import ReadOptions
from lond.data.views import ViewSettings
from lond.errors import ConfigError
from lond.frozen.samples import FrozenSettings
from lond.methods import METHODS, LondDrsSettings
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings

T = TypeVar("T")

OWN_MODULE = "module:"
"""What the name of a backbone begins with that is a module of the user's own."""


@dataclasses.dataclass(frozen=True)
class DataSettings:
    """What to train on: a benchmark by name, or the user's own source (which wins if both are given)."""

    benchmark: BenchmarkSettings = BenchmarkSettings()
    source: str = ""
    """Folder, table or .npz file of one's own."""
    test_source: str = ""
    """Test data; empty = the source's own test split, if it has one."""
    hold_out: float = 0.0
    """Share of every class that is not trained on but kept for the decision threshold."""
    split_seed: int = 0
    """Seed of that split."""
    read: ReadOptions = ReadOptions()
    frozen: FrozenSettings = FrozenSettings()
    """A frozen network whose features are learned from in place of the pixels."""


@dataclasses.dataclass(frozen=True)
class NetSettings:
    """The backbone."""

    backbone: str = "seven-layer"
    """"seven-layer", "efficientnet-lite0" or "timm:<model>"; "features" for features computed beforehand."""
    width: float = 1.0
    """Factor on the channels of the seven-layer CNN, or on the trunk of precomputed features."""
    pretrained: bool = False
    checkpoint_path: str | None = None
    """Local file of pretrained weights for a timm model."""


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run learns; with the same config and machine comes the same result."""

    data: DataSettings = DataSettings()
    net: NetSettings = NetSettings()
    views: ViewSettings = ViewSettings()
    features: FeatureViewSettings = FeatureViewSettings()
    """Views of features, if the backbone is "features"."""
    method: str = "lond-drs"
    settings: Any = dataclasses.field(default_factory=LondDrsSettings)
    """The method's own settings dataclass."""
    optimiser: OptimiserSettings = OptimiserSettings()
    train: TrainSettings = TrainSettings()


def to_dict(settings: Any) -> dict[str, Any]:
    """Return a settings dataclass as nested plain values."""
    content: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(settings), default=str))
    return content


def run_config_from_dict(content: Mapping[str, Any]) -> RunConfig:
    """Build a RunConfig; the class of ``settings`` follows from ``method``.

    Raises:
        ConfigError: a key is unknown or a value does not fit.
    """
    content = dict(content)
    name = _convert(str, content.get("method", RunConfig.method), "method")
    given = content.pop("settings", {})
    config = from_dict(RunConfig, content)
    return dataclasses.replace(config, settings=from_dict(settings_class(name), given, "settings."))


def settings_class(method: str) -> type[Any]:
    """Return the settings dataclass of a method.

    Raises:
        ConfigError: there is no such method.
    """
    if method not in METHODS:
        raise ConfigError(f"there is no method {method!r}; choose one of: {', '.join(METHODS)}")
    return METHODS[method][1]


def with_overrides(config: RunConfig, overrides: Mapping[str, str]) -> RunConfig:
    """Return a copy with dotted keys set from text, e.g. ``{"train.epochs": "10"}``.

    Raises:
        ConfigError: a key is unknown or a value does not fit.
    """
    content = to_dict(config)
    if overrides.get("method", config.method) != config.method:
        content["settings"] = to_dict(settings_class(overrides["method"])())
    for key, text in overrides.items():
        if key not in content and key in content["settings"]:
            raise ConfigError(f"there is no setting {key!r}; did you mean 'settings.{key}'?")
        *parents, last = key.split(".")
        node = content
        for depth, parent in enumerate(parents):
            if not isinstance(node.get(parent), dict):
                raise _unknown_key(".".join(parents[: depth + 1]), node)
            node = node[parent]
        if last not in node:
            raise _unknown_key(key, node)
        node[last] = _parse(text)
    return run_config_from_dict(content)


def from_dict(cls: type[T], content: Any, where: str = "") -> T:
    """Build a settings dataclass from plain values, checking every key and type.

    Raises:
        ConfigError: a key is unknown or a value does not fit.
    """
    if not isinstance(content, Mapping):
        raise ConfigError(f"{where.rstrip('.') or 'the configuration'} must be a table of settings, not {content!r}")
    hints = get_type_hints(cls)
    for key in content:
        if key not in hints:
            raise _unknown_key(f"{where}{key}", hints)
    return cls(**{key: _convert(hints[key], value, f"{where}{key}") for key, value in content.items()})


def _unknown_key(key: str, known: Mapping[str, Any]) -> ConfigError:
    close = difflib.get_close_matches(key.rsplit(".", 1)[-1], known, n=1)
    parent = key.rpartition(".")[0]
    if close:
        prefix = f"{parent}." if parent else ""
        return ConfigError(f"there is no setting {key!r}; did you mean {prefix + close[0]!r}?")
    return ConfigError(f"there is no setting {key!r}; known: {', '.join(known)}")


def _parse(text: str) -> Any:
    """Read a JSON value, or take the text as it is."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _convert(hint: Any, value: Any, key: str) -> Any:
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_dict(hint, value, f"{key}.")
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _convert_union(hint, value, key)
    if origin is Literal:
        if value not in get_args(hint):
            raise ConfigError(f"{key} is {value!r}; choose one of {', '.join(map(str, get_args(hint)))}")
        return value
    if origin is tuple:
        return _convert_tuple(hint, value, key)
    return _convert_plain(hint, value, key)


def _convert_union(hint: Any, value: Any, key: str) -> Any:
    if value is None and type(None) in get_args(hint):
        return None
    options = [option for option in get_args(hint) if option is not type(None)]
    for option in options:
        try:
            return _convert(option, value, key)
        except ConfigError:
            continue
    raise ConfigError(f"{key} is {value!r}; it must be {hint}")


def _convert_tuple(hint: Any, value: Any, key: str) -> tuple[Any, ...]:
    items = get_args(hint)
    if not isinstance(value, list | tuple) or (Ellipsis not in items and len(value) != len(items)):
        raise ConfigError(f"{key} is {value!r}; it must be a list of {len(items)} values")
    kinds = [items[0]] * len(value) if Ellipsis in items else list(items)
    return tuple(_convert(kind, item, f"{key}[{i}]") for i, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _convert_plain(hint: Any, value: Any, key: str) -> Any:
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"{key} is {value!r}; it must be of type {getattr(hint, '__name__', hint)}")
    return value
