"""Tensors in one file that knows its own content: a hash is checked on reading, and pickle is never used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lond.errors import DamagedFileError, DataError
from lond.io.atomic import write_atomically
from lond.io.json_files import parse_object

LAYOUT = 2
"""Version of the files; version 0.1.0 wrote 1 (checkpoints) or none (features), both without a hash."""

# What the library raises on a file it cannot make sense of; the last is its answer to some headers.
_UNREADABLE = (SafetensorError, OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError, OverflowError)


@dataclass(frozen=True)
class TensorFile:
    """What a file holds.

    Attributes:
        tensors: on the CPU.
        about: what the writer said of them.
        layout: version of the file; below ``LAYOUT`` nothing vouches for the content.
    """

    tensors: dict[str, Tensor]
    about: dict[str, Any]
    layout: int


def save_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors with their names, and what is to be known of them as JSON; atomically.

    Args:
        path: file to write.
        tensors: contiguous and on the CPU, none sharing memory with another.
        about: plain values.

    Raises:
        DataError: the file cannot be written.
    """
    words = {"format": str(LAYOUT), "written_by": _written_by(), "about": json.dumps(about)}
    metadata = words | {"sha256": _digest(tensors, words)}
    write_atomically(path, lambda place: save_file(dict(tensors), place, metadata=metadata))


def load_tensors(path: Path) -> TensorFile:
    """Read what ``save_tensors`` wrote, or what version 0.1.0 wrote in its place.

    Raises:
        DamagedFileError: the content is not what was written, or no such file at all.
        DataError: the file is missing, or of a newer version.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            _refuse_newer(path, metadata)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except _UNREADABLE as error:
        raise DamagedFileError(f"{path} is damaged ({_short(error)})") from error
    return _checked(path, tensors, metadata)


def _checked(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> TensorFile:
    layout = metadata.get("format")
    if layout == str(LAYOUT):
        words = {key: text for key, text in metadata.items() if key != "sha256"}
        if metadata.get("sha256") != _digest(tensors, words) or "about" not in words:
            raise DamagedFileError(f"{path} is damaged (its content is not what was written)")
        return TensorFile(tensors, _object(path, metadata["about"]), LAYOUT)
    if layout == "1" and "tree" in metadata and "sha256" not in metadata:
        return TensorFile(tensors, _object(path, f'{{"tree": {metadata["tree"]}}}'), 1)
    if layout is None and not metadata:
        return TensorFile(tensors, {}, 0)
    raise DamagedFileError(f"{path} is damaged, or was written by another program (layout {layout})")


def _refuse_newer(path: Path, metadata: dict[str, str]) -> None:
    layout = metadata.get("format", "")
    if layout.isdecimal() and int(layout[:9]) > LAYOUT:
        writer = metadata.get("written_by", "a newer version of lond")
        raise DataError(
            f"{path} was written by {writer} in layout {layout[:9]}; this one reads up to {LAYOUT}: update lond"
        )


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        return parse_object(text, constants=True)
    except DataError as error:
        raise DamagedFileError(f"{path} is {error}") from error


def _digest(tensors: Mapping[str, Tensor], words: Mapping[str, str]) -> str:
    """Return the hash of all names, types, shapes, values and words."""
    digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _written_by() -> str:
    try:
        return f"lond {version('lond')}"
    except PackageNotFoundError:
        return "lond"


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
