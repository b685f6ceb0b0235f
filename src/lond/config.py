"""Conversion of settings to and from plain dictionaries; unknown keys and values of the wrong type are errors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lond.data.benchmarks import BenchmarkSettings
from lond.data.feature_views import FeatureViewSettings
from lond.data.options import ReadOptions
from lond.data.views import ViewSettings
from lond.errors import ConfigError
from lond.frozen.samples import FrozenSettings
from lond.io.json_files import read_json
from lond.io.plain_values import convert, from_plain, unknown_key
from lond.methods import ALL_METHODS, LondDrsSettings
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings

OWN_MODULE = "module:"
"""What the name of a backbone begins with that is a module of the user's own."""


@dataclasses.dataclass(frozen=True)
class DataSettings:
    """Training data: a benchmark by name, or the user's own source, which takes precedence.

    Examples:
        >>> DataSettings(source="photos/", hold_out=0.1).split_seed
        0
    """

    benchmark: BenchmarkSettings = BenchmarkSettings()
    source: str = ""
    """The user's own folder, table or .npz file."""
    test_source: str = ""
    """Test data; empty = the source's own test split, if it has one."""
    hold_out: float = 0.0
    """Share of every class that is held out of training to set the decision threshold."""
    split_seed: int = 0
    """Seed of that split."""
    read: ReadOptions = ReadOptions()
    frozen: FrozenSettings = FrozenSettings()
    """Frozen network whose features replace the pixels."""


@dataclasses.dataclass(frozen=True)
class NetSettings:
    """The backbone.

    Examples:
        >>> NetSettings("timm:resnet50", pretrained=True).width
        1.0
    """

    backbone: str = "seven-layer"
    """"seven-layer", "efficientnet-lite0" or "timm:<model>"; "features" for precomputed features."""
    width: float = 1.0
    """Factor on the channels of the seven-layer CNN, or on the trunk of precomputed features."""
    pretrained: bool = False
    checkpoint_path: str | None = None
    """Local file of pretrained weights for a timm model."""


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """All settings that determine a run; the same configuration on the same machine gives the same result.

    Examples:
        >>> RunConfig(net=NetSettings(width=0.5)).method
        'lond-drs'
    """

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
    """Return a settings dataclass as nested plain values.

    Examples:
        >>> to_dict(NetSettings())["backbone"]
        'seven-layer'
    """
    content: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(settings), default=str))
    return content


def run_config_from_dict(content: Mapping[str, Any]) -> RunConfig:
    """Return the RunConfig of a dictionary; ``method`` determines the class of ``settings``.

    Raises:
        ConfigError: a key is unknown or a value has the wrong type.

    Examples:
        >>> from lond import preset
        >>> config = preset("digits")
        >>> run_config_from_dict(to_dict(config)) == config
        True
    """
    content = dict(content)
    name = convert(str, content.get("method", RunConfig.method), "method")
    given = content.pop("settings", {})
    config = from_plain(RunConfig, content)
    return dataclasses.replace(config, settings=from_plain(settings_class(name), given, "settings."))


def read_config(path: Path) -> RunConfig:
    """Read the configuration of a run; settings unknown to its version get the value that applied then.

    Raises:
        DataError: the file is damaged.
        ConfigError: a key is unknown or a value has the wrong type; the message names the file.

    Examples:
        >>> import json
        >>> from lond import preset
        >>> _ = Path("config.json").write_text(json.dumps(to_dict(preset("digits"))))
        >>> read_config(Path("config.json")).method
        'lond-drs'
    """
    content = read_json(path)
    try:
        if isinstance(content, Mapping) and isinstance(content.get("settings"), Mapping):
            name = convert(str, content.get("method", RunConfig.method), "method")
            content = {**content, "settings": {**former_defaults(name), **content["settings"]}}
        return run_config_from_dict(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def settings_class(method: str) -> type[Any]:
    """Return the settings dataclass of a method.

    Raises:
        ConfigError: there is no such method.

    Examples:
        >>> settings_class("disc").__name__
        'DiscSettings'
    """
    return ALL_METHODS[method].settings_class


def former_defaults(method: str) -> Mapping[str, Any]:
    """Return the settings of a method, by name, whose defaults have changed, with those of version 0.1.0.

    A settings class lists them as ``formerly``. What a run does is hashed as the difference from the first defaults, so
    that results of either version keep their hashes.

    Examples:
        >>> dict(former_defaults("lond-drs"))
        {'mixed_pairs': 'minor'}

    Raises:
        ConfigError: there is no such method.
    """
    found: Mapping[str, Any] = getattr(settings_class(method), "formerly", {})
    return found


def with_overrides(config: RunConfig, overrides: Mapping[str, str]) -> RunConfig:
    """Return a copy with dotted keys set from text, e.g. ``{"train.epochs": "10"}``.

    Raises:
        ConfigError: a key is unknown or a value has the wrong type.

    Examples:
        >>> from lond import preset
        >>> with_overrides(preset("digits"), {"train.epochs": "10"}).train.epochs
        10
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
                raise unknown_key(".".join(parents[: depth + 1]), node)
            node = node[parent]
        if last not in node:
            raise unknown_key(key, node)
        node[last] = _parse(text)
    return run_config_from_dict(content)


def _parse(text: str) -> Any:
    """Read a JSON value, or take the text as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
