"""Where each value of a configuration comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lond.config import RunConfig, settings_class, to_dict
from lond.io.plain_values import flat


@dataclass(frozen=True)
class Origin:
    """One setting of a run."""

    key: str
    """Dotted name."""
    value: Any
    default: Any
    """Value in its dataclass."""
    stage: str
    """The last stage that changed it; "" if it has its default."""


def origins(stages: Mapping[str, RunConfig]) -> list[Origin]:
    """Return every setting of the last of these configurations, in order, with the stage that it comes from.

    The settings of another method say nothing about this one's: in stages of that method it has its defaults.

    Args:
        stages: name -> the configuration after it; the first holds the defaults.
    """
    method = list(stages.values())[-1].method
    defaults = RunConfig(method=method, settings=settings_class(method)())
    values = [flat(to_dict(_of_method(config, defaults))) for config in stages.values()]
    default, last = flat(to_dict(defaults)) | {"method": RunConfig.method}, values[-1]
    found = []
    for key, value in last.items():
        came = ""
        for name, before, after in zip(list(stages)[1:], values, values[1:], strict=False):
            came = name if before[key] != after[key] else came
        found.append(Origin(key, value, default[key], came if value != default[key] else ""))
    return found


def _of_method(config: RunConfig, defaults: RunConfig) -> RunConfig:
    return config if config.method == defaults.method else replace(config, settings=defaults.settings)
