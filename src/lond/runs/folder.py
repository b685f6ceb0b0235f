"""A run's folder: whose it is, and the manifest that explains a result besides its configuration."""

from __future__ import annotations

import os
import platform
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from torch import Tensor

from lond.config import RunConfig, read_config, to_dict
from lond.data.noise import label_hash
from lond.data.read.files import contents_hash
from lond.errors import ConfigError, DataError
from lond.io.atomic import is_unfinished
from lond.io.json_files import plain, read_json
from lond.io.lock import LOCK, locked
from lond.io.plain_values import flat
from lond.methods import ALL_METHODS
from lond.nets import ALL_BACKBONES
from lond.processes.started import is_first_process
from lond.train.state import newest_checkpoint
from lond.types import Samples

PLACES = ("data.benchmark.root", "data.frozen.cache")
"""Settings that say where something lies, and nothing about what is learned from it."""

SOURCES = ("data.source", "data.test_source")
"""Settings that name a place in one of several ways: ``photos`` and ``photos/`` are one."""

CONTENTS = "contents_sha256"
"""Hash of the whole image files in the manifest, of images that are read from files during training."""

CONFIRMED = "confirmed_sha256"
"""Hash of which labels a person confirmed, in the manifest of a set that has any."""

FACTS = ("images", "pixels_sha256", "labels_sha256", CONFIRMED, CONTENTS)
"""What the manifest says of a data set that makes it this one."""

CONFIG, MANIFEST, METRICS, VERDICTS = "config.json", "manifest.json", "metrics.json", "verdicts.csv"


def outside_parts(config: RunConfig) -> dict[str, dict[str, str]]:
    """Return where method and backbone come from, of those that are not of this package; for the manifest."""
    origins = {"method": ALL_METHODS.origin(config.method), "backbone": ALL_BACKBONES.origin(config.net.backbone)}
    return {kind: origin for kind, origin in origins.items() if origin}


def folder_config(folder: Path, *, own_backbone: bool = False) -> RunConfig:
    """Read the configuration of a run folder; with ``own_backbone`` the one that it names need not be here.

    Raises:
        ConfigError: its method or backbone came from elsewhere and is not here; says what to install or to register.
        DataError: a file is damaged.
    """
    parts = read_json(folder / MANIFEST).get("outside", {}) if (folder / MANIFEST).is_file() else {}
    if not isinstance(parts, dict) or not all(isinstance(part, dict) and "name" in part for part in parts.values()):
        raise DataError(f"{folder / MANIFEST} is damaged (outside)")
    if "method" in parts:
        ALL_METHODS.demand(parts["method"], str(folder))
    if "backbone" in parts and not own_backbone:
        ALL_BACKBONES.demand(parts["backbone"], str(folder))
    return read_config(folder / CONFIG)


def claim(folder: Path, config: RunConfig) -> None:
    """Make the folder, or check that it belongs to the same configuration.

    Raises:
        ConfigError: it holds another run, or something else.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file, not a folder. Choose another folder for the run.")
    if (folder / CONFIG).is_file():
        # Read as settings first: what an older version did not write yet has its default.
        stored, asked = _settings(folder_config(folder)), _settings(config)
        names = sorted(stored.keys() | asked.keys())
        changed = [name for name in names if stored.get(name) != asked.get(name)]
        if changed:
            raise ConfigError(
                f"{folder} holds a run with other settings ({', '.join(changed)}). "
                "Choose another folder, or delete that one to start anew."
            )
    elif folder.is_dir() and any(path.name != LOCK and not is_unfinished(path) for path in folder.iterdir()):
        raise ConfigError(f"{folder} is not empty and holds no run. Choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)


def part_seen(folder: Path | None) -> bool | None:
    """Return what ``whole`` means for the frozen network of the run in a folder, so that it can be resumed.

    None: it also saw the ends of long pictures, as new runs do, or there is no run with a frozen network.

    Raises:
        ConfigError: the stored configuration is unusable.
    """
    if folder is None or not (folder / CONFIG).is_file():
        return None
    frozen = read_config(folder / CONFIG).data.frozen
    return None if not frozen.backbone or (frozen.squares_beyond and not frozen.whole) else frozen.whole


def _settings(config: RunConfig) -> dict[str, Any]:
    """Return all settings by dotted key but those of ``PLACES``; a source is named in one way."""
    settings = {key: value for key, value in flat(to_dict(config)).items() if key not in PLACES}
    return settings | {key: os.path.normpath(settings[key]) for key in SOURCES if settings.get(key)}


def run_identity(config: RunConfig, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what makes a run this one, for its files to know whose they are: settings and data."""
    data = {name: {key: part[key] for key in FACTS if key in part} for name, part in manifest["data"].items()}
    shape = {key: manifest[key] for key in ("class_names", "channels", "size") if key in manifest}
    identity: dict[str, Any] = plain({"settings": _settings(config), "data": data, "shape": shape})
    return identity


def identity_in(folder: Path) -> dict[str, Any]:
    """Return the identity of the run of a folder; empty if the folder does not tell.

    Raises:
        DataError: a file is damaged.
    """
    if not all((folder / name).is_file() for name in (CONFIG, MANIFEST)):
        return {}
    return run_identity(folder_config(folder, own_backbone=True), read_manifest(folder))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run.

    Raises:
        DataError: it is missing or damaged.
    """
    path = folder / MANIFEST
    manifest = read_json(path)
    names, size, data = (manifest.get(key) for key in ("class_names", "size", "data"))
    fits = {
        "class_names": isinstance(names, list) and all(isinstance(name, str) for name in names),
        "channels": _is_count(manifest.get("channels")),
        "size": isinstance(size, list) and len(size) == 2 and all(map(_is_count, size)),
        "data": isinstance(data, dict) and all(isinstance(part, dict) for part in data.values()),
    }
    wrong = [key for key, fit in fits.items() if not fit]
    if wrong:
        raise DataError(
            f"{path} is damaged ({', '.join(wrong)}); take it from a copy, or delete {folder} to train the run again"
        )
    return manifest


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def held(folder: Path | None) -> AbstractContextManager[None]:
    """Keep other processes from training the same run while the context lasts.

    The other processes of a distributed run share the first one's lock.

    Raises:
        ConfigError: another process holds the folder.
    """
    if folder is None or not is_first_process():
        return nullcontext()
    return locked(folder, f"another process is training the run of {folder}; wait for it to end")


def check_same_data(folder: Path, manifest: dict[str, Any]) -> None:
    """Refuse to go on with a run whose images or labels have changed.

    Raises:
        ConfigError: they have.
    """
    begun = newest_checkpoint(folder) is not None or (folder / METRICS).is_file()
    if not (begun and (folder / MANIFEST).is_file()):
        return
    stored, asked = read_manifest(folder)["data"], manifest["data"]
    keys = tuple(key for key in FACTS if key != CONTENTS)
    for name in sorted(stored.keys() | asked.keys()):
        old, new = stored.get(name, {}), asked.get(name, {})
        # Version 0.1.0 did not hash whole files.
        checked = (*keys, CONTENTS) if CONTENTS in old and CONTENTS in new else keys
        if any(old.get(key) != new.get(key) for key in checked):
            raise ConfigError(
                f"{folder} holds a run on other data (the {name} images or labels have changed). "
                "Choose another folder, or delete that one to start anew."
            )


def make_manifest(samples: Samples, test: Samples | None, noise: dict[str, Any]) -> dict[str, Any]:
    """Return what explains a result besides its configuration: data, noise, versions."""
    sets = {"train": samples} | ({"test": test} if test is not None else {})
    return {
        "class_names": samples.class_names,
        "channels": samples.pixels.channels,
        "size": samples.pixels.size,
        "data": {name: _described(part) for name, part in sets.items()},
        "noise": noise,
        "versions": {name: _version(name) for name in ("lond", "torch", "numpy", "lightning-fabric")},
        "python": platform.python_version(),
    }


def _described(part: Samples) -> dict[str, Any]:
    contents = contents_hash(part.pixels)
    return {
        "origin": part.origin,
        "images": len(part),
        "pixels_sha256": part.pixels.fingerprint(),
        **({} if contents is None else {CONTENTS: contents}),
        "labels_sha256": label_hash(part.labels),
        **({} if part.confirmed is None else _confirmed(part.confirmed)),
        "problems": [{"id": problem.id, "reason": problem.reason} for problem in part.problems],
    }


def _confirmed(which: Tensor) -> dict[str, Any]:
    return {"confirmed": int(which.sum()), CONFIRMED: label_hash(which.long())}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
