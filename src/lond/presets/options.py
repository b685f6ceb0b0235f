"""From the options of a command to the configuration of a run."""

from __future__ import annotations

from lond.config import RunConfig, with_overrides
from lond.errors import ConfigError
from lond.presets.benchmarks import preset
from lond.presets.features import FROZEN_EPOCHS, on_frozen
from lond.presets.own_data import own_data
from lond.presets.scaling import with_epochs, with_method
from lond.runs.data import with_root


def base_config(source: str, preset_name: str, method: str, root: str, test: str) -> RunConfig:
    """Return the configuration of a method on images of one's own or on a preset's benchmark.

    Raises:
        ConfigError: both or neither are given, or a name is unknown.
    """
    if bool(source) == bool(preset_name):
        raise ConfigError("give either SOURCE (your own images) or --preset NAME; `lond list` shows the presets")
    if test and not source:
        raise ConfigError("--test goes with SOURCE; a preset has its own test data")
    if source:
        return with_method(own_data(source, test), method)
    return with_root(preset(preset_name, method), root)


def scaled(config: RunConfig, epochs: int | None, frozen: bool, overrides: dict[str, str]) -> RunConfig:
    """Return the configuration at the asked length, on frozen features if any setting is about them, overridden."""
    if frozen or any(key.startswith("data.frozen.") for key in overrides):
        config = on_frozen(config, FROZEN_EPOCHS if epochs is None else epochs)
    elif epochs is not None:
        config = with_epochs(config, epochs)
    return with_overrides(config, overrides)


def key_and_value(text: str) -> tuple[str, str]:
    """Return both sides of a ``--set``.

    Raises:
        ConfigError: there is no equals sign.
    """
    key, separator, value = text.partition("=")
    if not separator:
        raise ConfigError(f"--set needs KEY=VALUE, not {text!r}; e.g. --set train.batch_size=64")
    return key.strip(), value.strip()


def overrides_of(texts: list[str], method: str) -> dict[str, str]:
    """Return the settings for one method: those for all, and those that name it before a colon."""
    chosen = {}
    for text in texts:
        key, value = key_and_value(text)
        name, colon, rest = key.partition(":")
        if not colon or name == method:
            chosen[rest if colon else key] = value
    return chosen


def check_overrides(texts: list[str], methods: list[str]) -> None:
    """Refuse settings of a comparison that would have no effect.

    Raises:
        ConfigError: one names a method that takes no part, or the seed.
    """
    for text in texts:
        name, colon, rest = key_and_value(text)[0].partition(":")
        if colon and name not in methods:
            raise ConfigError(f"--set {text}: {name!r} is not among the methods {', '.join(methods)}")
        if (rest if colon else name) == "train.seed":
            raise ConfigError(f"--set {text}: seeds are set with --seeds")
