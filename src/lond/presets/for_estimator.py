"""From the arguments of the estimator to the configuration of its run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from torch import nn

from lond.config import OWN_MODULE, DataSettings, RunConfig, run_config_from_dict, settings_class, to_dict
from lond.errors import ConfigError
from lond.frozen.extractor import SQUARES_BEYOND, ExtractorSettings
from lond.frozen.samples import FrozenSettings
from lond.methods import ALL_METHODS, LondDrsSettings
from lond.nets import ALL_BACKBONES, native_size
from lond.presets.features import FROZEN_EPOCHS, on_features, on_frozen
from lond.presets.own_data import USUAL_METHOD
from lond.presets.recipes.lond_drs import OWN_IDENTIFY
from lond.presets.scaling import with_method
from lond.train.loop import TrainSettings
from lond.train.schedule import OptimiserSettings

IMAGES: dict[str, Any] = {"epochs": 100, "batch_size": 128, "learning_rate": 0.05, "width": 1.0}
"""What None stands for where the estimator learns from images."""

BACKBONE = "seven-layer"
"""The estimator's backbone, unless told otherwise."""


def estimator_config(params: Mapping[str, Any], side: int) -> RunConfig:
    """Return the configuration that the estimator's arguments mean for images of this side.

    Raises:
        ConfigError: an argument is unusable.
    """
    backbone, warmup = params["backbone"], params["warmup_epochs"]
    epochs, batch, rate, width = (IMAGES[key] if params[key] is None else params[key] for key in IMAGES)
    epochs = _whole(epochs)
    warmup = epochs // 5 if warmup is None else warmup
    method = ALL_METHODS.name_of(params["method"] or USUAL_METHOD)
    known = {field.name for field in fields(settings_class(method))}
    # A judgement every twelfth of the run, as in the method's recipe.
    between = max(1, epochs // 12)
    own = {"warmup_epochs": warmup, "judge_epochs": between, "identify": to_dict(OWN_IDENTIFY)}
    is_module = isinstance(backbone, nn.Module)
    padding = max(1, side // 8) if params["padding"] is None else params["padding"]
    content = {
        "net": {"backbone": f"{OWN_MODULE}{type(backbone).__name__}" if is_module else ALL_BACKBONES.name_of(backbone)}
        | ({} if is_module else {"width": width}),
        "views": {"padding": padding, "flip": params["flip"], "strong": params["strong"]},
        "method": method,
        "settings": _merged({key: value for key, value in own.items() if key in known}, params["settings"] or {}),
        "optimiser": {"learning_rate": rate, "constant_epochs": warmup},
        "train": {"epochs": epochs, "batch_size": batch, "seed": _seed(params)},
    }
    return _checked(run_config_from_dict(plain_values(content)))


def estimator_config_on_features(params: Mapping[str, Any], rows: int) -> RunConfig:
    """Return the configuration that the arguments mean for so many rows of features, given or of a frozen network.

    What is None follows from the method's recipe, shortened for features.

    Raises:
        ConfigError: an argument is unusable, or only means something for images.
    """
    if params["backbone"] != BACKBONE:
        raise ConfigError("backbone is for images; features are learned from by a small network of their own")
    frozen = params["frozen"]
    epochs = _whole(FROZEN_EPOCHS if params["epochs"] is None else params["epochs"])
    method, seed = ALL_METHODS.name_of(params["method"] or USUAL_METHOD), _seed(params)
    if method == RunConfig.method and not frozen:
        config = replace(on_features(rows, epochs, seed), data=DataSettings())
    else:
        start = RunConfig(
            data=DataSettings(source="memory"),
            settings=LondDrsSettings(warmup_epochs=20, identify=OWN_IDENTIFY),
            optimiser=OptimiserSettings(constant_epochs=20),
            train=TrainSettings(epochs=IMAGES["epochs"], seed=seed),
        )
        config = on_frozen(with_method(start, method), epochs, rows)
        config = replace(config, data=DataSettings(frozen=frozen_settings(frozen, params["whole"])))
    given: dict[str, Any] = {
        "net": {"width": params["width"]},
        "optimiser": {"learning_rate": params["learning_rate"], "constant_epochs": params["warmup_epochs"]},
        "train": {"batch_size": params["batch_size"]},
        "settings": {"warmup_epochs": params["warmup_epochs"]} if hasattr(config.settings, "warmup_epochs") else {},
    }
    chosen = {
        part: {key: value for key, value in values.items() if value is not None} for part, values in given.items()
    }
    content = _merged(_merged(to_dict(config), chosen), {"settings": params["settings"] or {}})
    return _checked(run_config_from_dict(plain_values(content)))


def frozen_settings(frozen: bool | str, whole: bool | None = None) -> FrozenSettings:
    """Return the frozen network that the arguments of these names stand for; True is the usual one, False none.

    PyTorch runs it: another route would be prepared anew for each call, as an estimator keeps no files.
    """
    if not isinstance(frozen, bool | str):
        raise ConfigError(f"frozen is {frozen!r}; it must be True, False or the name of a network")
    if whole and not frozen:
        raise ConfigError("whole pictures are for frozen networks: give frozen=True, or leave out whole")
    if not frozen:
        return FrozenSettings()
    network = ExtractorSettings.backbone if frozen is True else str(frozen)
    found = FrozenSettings(network, native_size(network), route="torch", squares_beyond=SQUARES_BEYOND)
    return found if whole is None else found.showing(bool(whole))


def _checked(config: RunConfig) -> RunConfig:
    if getattr(config.settings, "warmup_epochs", 0) >= config.train.epochs:
        raise ConfigError(
            f"all {config.train.epochs} epochs are warm-up: no label would be judged; lower warmup_epochs"
        )
    return config


def _whole(epochs: Any) -> int:
    if not isinstance(epochs, int | np.integer):
        raise ConfigError(f"epochs is {epochs!r}; it must be a whole number")
    return int(epochs)


def _seed(params: Mapping[str, Any]) -> Any:
    seed = params["random_state"]
    return seed if isinstance(seed, int | np.integer) else check_random_state(seed).randint(2**31 - 1)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {k: _merged(base[k], over[k]) for k in base.keys() & over.keys() if isinstance(over[k], Mapping)}
    return {**base, **over, **both}


def plain_values(value: Any) -> Any:
    """Return NumPy's numbers as Python's, and paths as text, in nested tables too."""
    if isinstance(value, Mapping):
        return {key: plain_values(item) for key, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.item() if isinstance(value, np.generic) else value
