"""From the options of a command to the configuration of a run, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lond.config import RunConfig, settings_class, to_dict, with_overrides
from lond.errors import ConfigError
from lond.frozen.extractor import SQUARES_BEYOND
from lond.io.plain_values import flat
from lond.nets import native_size
from lond.presets.benchmarks import preset
from lond.presets.changes import with_epochs, with_root
from lond.presets.features import FROZEN_EPOCHS, on_frozen
from lond.presets.own_data import USUAL_METHOD, own_data
from lond.presets.scaling import with_method

COMMAND_LINE = "command line"
"""The last stage."""

LENGTH = "train.epochs"
"""The setting that, unlike ``--epochs``, changes the length of a run alone."""


def stages(
    source: str,
    preset_name: str,
    method: str,
    *,
    root: str = "data",
    test: str = "",
    epochs: int | None = None,
    frozen: bool = False,
    network: str = "",
    whole: bool | None = None,
    overrides: Mapping[str, str] | None = None,
) -> dict[str, RunConfig]:
    """Return the configuration after each stage, by the stage's name; the last one is that of the run.

    The stages are the method's defaults, the preset (or what suits your own images), the method's recipe, frozen
    features or another length if asked for, and the command line. Settings about a frozen network ask for its features.

    Args:
        source: your own images, or
        preset_name: a benchmark with its settings.
        method: name of the method; empty = cross-fit on your own data, else LOND-DRS.
        root: folder with the benchmark's own files.
        test: test data beside a source.
        epochs: length in all; None = that of the stages before.
        frozen: whether to learn from features of a frozen network.
        network: name of that network, which asks for its features; empty = the usual one.
        whole: whether that network sees all pictures whole, which asks for its features, or the centre squares of all;
            None = also the ends of long ones of the user's own data.
        overrides: dotted key -> text of single settings.

    Raises:
        ConfigError: both or neither of source and preset are given, or a name is unknown.
    """
    if bool(source) == bool(preset_name):
        raise ConfigError("give either SOURCE (your own images) or --preset NAME; `lond list` shows the presets")
    if test and not source:
        raise ConfigError("--test goes with SOURCE; a preset has its own test data")
    overrides = overrides or {}
    title = "own data" if source else f"preset {preset_name}"
    base = own_data(source, test) if source else preset(preset_name)
    frozen = frozen or bool(network) or bool(whole) or any(key.startswith("data.frozen.") for key in overrides)
    method = method or (USUAL_METHOD if source else RunConfig.method)
    found = {"default": RunConfig(method=method, settings=settings_class(method)()), title: base}
    config = found[f"recipe {method}"] = with_method(base, method)
    if network:
        named = replace(config.data.frozen, backbone=network, size=native_size(network))
        config = replace(config, data=replace(config.data, frozen=named))
    if frozen:
        shown = config.data.frozen if whole is None else config.data.frozen.showing(whole)
        if whole is None and source:
            shown = replace(shown, squares_beyond=SQUARES_BEYOND)
        config = replace(config, data=replace(config.data, frozen=shown))
        config = found["frozen features"] = on_frozen(config, FROZEN_EPOCHS if epochs is None else epochs)
    elif epochs is not None:
        config = found["--epochs"] = with_epochs(config, epochs)
    found[COMMAND_LINE] = with_overrides(config if source else with_root(config, root), overrides)
    return found


def unscaled(found: Mapping[str, RunConfig], overrides: Mapping[str, str]) -> dict[str, Any]:
    """Return what ``--epochs`` would have scaled while the length alone was set, with its values.

    Args:
        found: of ``stages``.
        overrides: that it was given.
    """
    *_, before, last = found.values()
    if LENGTH not in overrides or last.train.epochs == before.train.epochs:
        return {}
    values, scaled = flat(to_dict(last)), flat(to_dict(with_epochs(before, last.train.epochs)))
    made_for = flat(to_dict(before))
    return {
        key: value
        for key, value in values.items()
        if key not in overrides and key != LENGTH and value == made_for[key] != scaled[key]
    }


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
