"""What a user hands to the estimator, turned into samples, classes and a configuration."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor, nn

from lond.config import RunConfig, run_config_from_dict, settings_class, to_dict
from lond.data.read.labels import read_names
from lond.data.sources import load
from lond.errors import ConfigError, DataError
from lond.methods import ALL_METHODS
from lond.nets import ALL_BACKBONES
from lond.presets.benchmarks import OWN_IDENTIFY
from lond.runs.build import OWN_MODULE
from lond.runs.data import in_memory
from lond.types import Samples


def training_set(images: Any, labels: Any, true_labels: Any) -> tuple[Samples, np.ndarray]:
    """Return the samples, and the classes in the user's own values.

    Raises:
        DataError: an array without labels, labels beside something that has its own, or unusable ones.
    """
    is_array = isinstance(images, list | np.ndarray | Tensor)
    if labels is None and is_array:
        raise DataError("images in an array need their labels y")
    if not is_array and (labels is not None or true_labels is not None):
        kind = type(images).__name__
        raise DataError(f"y and true_labels belong to arrays of images; a {kind} brings its own labels")
    if not is_array:
        samples = in_memory(load(images))
        return samples, np.array(samples.class_names)
    samples = load((images, labels) if true_labels is None else (images, labels, true_labels))
    values: dict[str | None, Any] = {}
    for name, value in zip(read_names(labels).values, getattr(labels, "tolist", lambda: labels)(), strict=True):
        values.setdefault(name, value)
    return samples, class_array([values[name] for name in samples.class_names])


def class_array(classes: list[Any]) -> np.ndarray:
    """Return an array that keeps each value as it is: NumPy would turn numbers beside names into text."""
    return np.array(classes, dtype=object if len({type(value) for value in classes}) > 1 else None)


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


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Leave the global random numbers of the caller as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
