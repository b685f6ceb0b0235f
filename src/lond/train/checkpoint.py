"""Complete training state in one file that loads without pickle and is replaced atomically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lond.errors import DataError
from lond.io.atomic import write_atomically

FORMAT = 1
"""Version of the file's layout."""


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a tree of dicts, lists, tensors, numbers, strings and None.

    A process killed at any moment leaves the previous file whole.

    Raises:
        TypeError: the tree holds something else.
        DataError: the file cannot be written.
    """
    tensors: dict[str, Tensor] = {}
    tree = _encode(state, tensors)
    metadata = {"format": str(FORMAT), "tree": json.dumps(tree)}
    write_atomically(path, lambda place: save_file(tensors, place, metadata=metadata))


def load_state(path: Path) -> dict[str, Any]:
    """Read what ``save_state`` wrote; tensors are on the CPU.

    Raises:
        DataError: the file is missing, damaged or of another layout.
    """
    if not path.is_file():
        raise DataError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except SafetensorError as error:
        raise DataError(f"the checkpoint {path} is damaged ({error}); delete it to start anew") from error
    if metadata.get("format") != str(FORMAT):
        raise DataError(f"the checkpoint {path} has layout {metadata.get('format')}, this version reads {FORMAT}")
    state: dict[str, Any] = _decode(json.loads(metadata["tree"]), tensors)
    return state


def _encode(node: Any, tensors: dict[str, Tensor]) -> Any:
    """Replace tensors by their key, and mark containers so that key types and tuples survive JSON."""
    if isinstance(node, Tensor):
        key = str(len(tensors))
        tensors[key] = node.detach().cpu().contiguous().clone()
        return {"tensor": key}
    if isinstance(node, dict):
        return {"dict": [[key, _encode(value, tensors)] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        kind = "list" if isinstance(node, list) else "tuple"
        return {kind: [_encode(value, tensors) for value in node]}
    if node is None or isinstance(node, bool | int | float | str):
        return node
    raise TypeError(f"cannot store a {type(node).__name__} in a checkpoint")


def _decode(node: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "dict":
        return {key: _decode(value, tensors) for key, value in content}
    values = [_decode(value, tensors) for value in content]
    return values if kind == "list" else tuple(values)


def same_state(first: Any, second: Any) -> bool:
    """Tell whether two states are equal to the last bit; NaN equals NaN."""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        same_kind = first.dtype == second.dtype and first.shape == second.shape
        return same_kind and torch.allclose(first, second, rtol=0, atol=0, equal_nan=True)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same_state(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(same_state(a, b) for a, b in zip(first, second, strict=True))
    both_nan = first != first and second != second
    return bool(first == second or both_nan)
