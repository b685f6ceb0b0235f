"""Complete training state in one file that loads without pickle, knows whose it is, and is replaced atomically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lond.errors import DamagedFileError, DataError
from lond.io.json_files import plain
from lond.io.tensor_files import TensorFile, load_tensors, save_tensors


@dataclass(frozen=True)
class SavedState:
    """A state as it was read, and whose it is: empty if the file does not say, as those of version 0.1.0."""

    state: dict[str, Any]
    identity: dict[str, Any] = field(default_factory=dict)


def save_state(
    path: Path, state: dict[str, Any], *, holds: str = "state", identity: Mapping[str, Any] | None = None
) -> None:
    """Write a tree of dicts, lists, tensors, numbers, strings and None; tensors are named by their place in it.

    A process killed at any moment leaves the previous file whole.

    Args:
        path: file to write.
        state: the tree.
        holds: what the file is, so that it is not taken for another.
        identity: what the state belongs to, as plain values.

    Raises:
        TypeError: the tree holds something else.
        DataError: the file cannot be written.
    """
    tensors: dict[str, Tensor] = {}
    tree = _encode(state, tensors, "")
    save_tensors(path, tensors, {"holds": holds, "identity": plain(identity or {}), "tree": tree})


def load_state(path: Path) -> dict[str, Any]:
    """Read the state that ``save_state`` wrote; see ``read_state``."""
    return read_state(path).state


def read_state(path: Path, *, holds: str | None = None, needed: tuple[str, ...] = ()) -> SavedState:
    """Read what ``save_state`` wrote; tensors are on the CPU.

    Args:
        path: the file.
        holds: what it must be, if the file says so.
        needed: entries that the state must have.

    Raises:
        DamagedFileError: the content is not what was written.
        DataError: the file is missing, of a newer version, or holds something else.
    """
    if not path.is_file():
        raise DataError(f"there is no checkpoint {path}")
    file = load_tensors(path)
    if holds is not None and file.about.get("holds", holds) != holds:
        raise DataError(f"{path} holds a {file.about['holds']}, not a {holds}; it belongs elsewhere")
    state = _tree(path, file)
    missing = [name for name in needed if name not in state]
    if missing:
        raise DataError(f"{path} is not a {holds or 'state'}: it has no {', '.join(missing)}")
    identity = file.about.get("identity")
    return SavedState(state, identity if isinstance(identity, dict) else {})


def _tree(path: Path, file: TensorFile) -> dict[str, Any]:
    if "tree" not in file.about:
        raise DamagedFileError(f"{path} is damaged, or was written by another program")
    try:
        state = _decode(file.about["tree"], file.tensors)
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged ({type(error).__name__} in its list of contents)") from error
    if not isinstance(state, dict):
        raise DamagedFileError(f"{path} is damaged (no table of contents)")
    return state


def _encode(node: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """Replace tensors by their names, and mark containers so that key types and tuples survive JSON."""
    if isinstance(node, Tensor):
        name = _free(name or "value", tensors)
        tensors[name] = node.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(node, dict):
        return {"dict": [[key, _encode(value, tensors, _joined(name, key))] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        kind = "list" if isinstance(node, list) else "tuple"
        return {kind: [_encode(value, tensors, _joined(name, at)) for at, value in enumerate(node)]}
    if node is None or isinstance(node, bool | int | float | str):
        return node
    raise TypeError(f"cannot store a {type(node).__name__} in a checkpoint")


def _joined(name: str, key: object) -> str:
    text = str(key).encode("ascii", "backslashreplace").decode()
    return f"{name}.{text}" if name else text


def _free(name: str, taken: Mapping[str, Tensor]) -> str:
    """Return a name that no other tensor has: keys may hold dots, and 1 and "1" read the same."""
    # The library keeps this name for itself.
    free, number = f"{name}#1" if name == "__metadata__" else name, 1
    while free in taken:
        number += 1
        free = f"{name}#{number}"
    return free


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
