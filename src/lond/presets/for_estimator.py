"""From the arguments of the estimator to the configuration of its run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from torch import nn

from lond.config import OWN_MODULE, RunConfig, run_config_from_dict, settings_class, to_dict
from lond.errors import ConfigError
from lond.methods import ALL_METHODS
from lond.nets import ALL_BACKBONES
from lond.presets.recipes.lond_drs import OWN_IDENTIFY


def estimator_config(params: Mapping[str, Any], side: int) -> RunConfig:
    """Return the configuration that the estimator's arguments mean for images of this side.

    Raises:
        ConfigError: an argument is unusable.
    """
    epochs, backbone, warmup, seed = (params[key] for key in ("epochs", "backbone", "warmup_epochs", "random_state"))
    if warmup is None and isinstance(epochs, int | np.integer):
        warmup = epochs // 5
    method = ALL_METHODS.name_of(params["method"])
    known = {field.name for field in fields(settings_class(method))}
    own = {"warmup_epochs": warmup, "identify": to_dict(OWN_IDENTIFY)}
    is_module = isinstance(backbone, nn.Module)
    if not isinstance(seed, int | np.integer):
        seed = check_random_state(seed).randint(2**31 - 1)
    padding = max(1, side // 8) if params["padding"] is None else params["padding"]
    content = {
        "net": {"backbone": f"{OWN_MODULE}{type(backbone).__name__}" if is_module else ALL_BACKBONES.name_of(backbone)}
        | ({} if is_module else {"width": params["width"]}),
        "views": {"padding": padding, "flip": params["flip"], "strong": params["strong"]},
        "method": method,
        "settings": _merged({key: value for key, value in own.items() if key in known}, params["settings"] or {}),
        "optimiser": {"learning_rate": params["learning_rate"], "constant_epochs": warmup},
        "train": {"epochs": epochs, "batch_size": params["batch_size"], "seed": seed},
    }
    config = run_config_from_dict(plain_values(content))
    if getattr(config.settings, "warmup_epochs", 0) >= config.train.epochs:
        raise ConfigError(f"all {epochs} epochs are warm-up: no label would be judged; lower warmup_epochs")
    return config


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
