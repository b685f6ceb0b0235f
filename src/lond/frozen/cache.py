"""What was computed of images, kept by their content: a changed image is computed again, an unchanged one never.

The cache is a folder of small files. Each holds some images under the hashes of their content, so it does not matter
where an image lies or what it is called. A run that was cut goes on after the last file.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from lond.errors import DataError
from lond.io.atomic import write_atomically
from lond.io.json_files import json_line
from lond.io.tensor_files import load_tensors, save_tensors

ROWS_A_FILE = 1024
"""Images of one file of the cache: what is lost when a run is killed."""

ABOUT = "about.json"
"""File that tells a person what a folder holds."""

HASHES, ENDS = "hashes", ".ends"
"""Names in a file: the content hashes, and what is put behind the name of byte strings for their ends."""

Array = NDArray[Any]

Shapes = dict[str, tuple[str, tuple[int, ...]]]
"""Type and shape of one row, by column."""

Features = np.ndarray[tuple[int, int, int], np.dtype[np.floating[Any]]]
"""Features ``(N, V, D)`` of V views of N images: stored as float16, your own embeddings as they are."""


class ContentCache:
    """Arrays with one row per image, by content hash.

    Args:
        folder: where everything is kept; None keeps it as long as this object lives.
        key: what the rows depend on besides the image; each key has a folder of its own.
    """

    def __init__(self, folder: Path | None, key: str) -> None:
        """Find what is stored already."""
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="lond-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.key = key
        self.folder = folder / hashlib.sha256(key.encode()).hexdigest()[:16]
        self._places: dict[str, tuple[Path, int]] = {}
        self._shapes: Shapes = {}
        for path in sorted(self.folder.glob("*.safetensors")):
            self._index(path)

    def _index(self, path: Path) -> None:
        """Take in what a file holds; a damaged file, or one of another key, counts as never written."""
        try:
            file = load_tensors(path)
            hashes = _checked_hashes(file.tensors)
        except DataError:
            return
        shapes = {name: _row_shape(tensor) for name, tensor in file.tensors.items() if _is_column(name, file.tensors)}
        # Files of version 0.1.0 do not tell their key: rows of another width give them away.
        known = file.about.get("key", self.key) == self.key and shapes == (self._shapes or shapes)
        if not known:
            return
        self._shapes = shapes
        finite = _finite_rows([file.tensors[name] for name in shapes], len(hashes))
        self._places |= {content: (path, row) for row, content in enumerate(hashes) if finite[row]}

    def __contains__(self, content_hash: str) -> bool:
        """Tell whether an image is stored."""
        return content_hash in self._places

    def known(self) -> frozenset[str]:
        """Return the content hashes of all stored images."""
        return frozenset(self._places)

    def store(
        self, hashes: Sequence[str], columns: Mapping[str, Array], blobs: Mapping[str, Sequence[bytes]] | None = None
    ) -> None:
        """Keep images with these content hashes (64 hexadecimal digits).

        Args:
            hashes: n of them.
            columns: arrays ``(n, ...)``, for ``load``.
            blobs: n byte strings of any length, for ``blob``.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / ABOUT).is_file():
            write_atomically(self.folder / ABOUT, json_line({"holds": self.key}))
        name = hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]
        path = self.folder / f"{name}.safetensors"
        arrays = {column: np.ascontiguousarray(values) for column, values in columns.items()}
        arrays[HASHES] = np.frombuffer(bytes.fromhex("".join(hashes)), dtype=np.uint8).reshape(len(hashes), -1)
        for blob, parts in (blobs or {}).items():
            arrays[blob] = np.frombuffer(b"".join(parts), dtype=np.uint8)
            arrays[f"{blob}{ENDS}"] = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        tensors = {name: torch.from_numpy(values.copy()) for name, values in arrays.items()}
        save_tensors(path, tensors, {"key": self.key})
        self._places |= {content: (path, row) for row, content in enumerate(hashes)}

    def load(self, hashes: Sequence[str], column: str) -> Any | None:
        """Return the rows ``(N, ...)`` of images in this order, zeros for ""; None if there are no others.

        Raises:
            DataError: an image is not stored, or not any more.
        """
        by_file: dict[Path, list[tuple[int, int]]] = {}
        for place, content in enumerate(hashes):
            if content:
                if content not in self._places:
                    raise DataError(f"{self.folder} does not hold an image that was read; start the command again")
                path, row = self._places[content]
                by_file.setdefault(path, []).append((place, row))
        found: Array | None = None
        for path, pairs in by_file.items():
            stored = _column(path, column)
            if found is None:
                found = np.zeros((len(hashes), *stored.shape[1:]), dtype=stored.dtype)
            places, rows = zip(*pairs, strict=True)
            found[list(places)] = stored[list(rows)]
        return found

    def blob(self, content_hash: str, name: str) -> bytes:
        """Return the byte string of one image; empty if it is not stored (any more)."""
        try:
            path, row = self._places[content_hash]
            with safe_open(path, framework="numpy") as file:
                start, end = file.get_slice(f"{name}{ENDS}")[row : row + 2].tolist()
                return bytes(file.get_slice(name)[start:end].tobytes())
        except (KeyError, ValueError, OSError, SafetensorError):
            return b""


def _column(path: Path, column: str) -> Array:
    """Return one column of a file that was whole when it was taken in."""
    try:
        with safe_open(path, framework="numpy") as file:
            stored: Array = file.get_tensor(column)
            return stored
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path} was changed or removed while it was read; start the command again") from error


def _checked_hashes(tensors: Mapping[str, Tensor]) -> list[str]:
    """Return the content hashes of the rows of a file.

    Raises:
        DataError: they are missing, or a column has another number of rows.
    """
    hashes = tensors.get(HASHES)
    if hashes is None or hashes.dtype != torch.uint8 or hashes.dim() != 2:
        raise DataError("no hashes")
    for name, tensor in tensors.items():
        if name.endswith(ENDS):
            ends = tensor.tolist() if tensor.dim() == 1 else []
            bytes_of = tensors.get(name.removesuffix(ENDS), torch.empty(0))
            if len(ends) != len(hashes) + 1 or ends != sorted(ends) or (ends[0], ends[-1]) != (0, len(bytes_of)):
                raise DataError("byte strings do not fit the hashes")
        elif _is_column(name, tensors) and (tensor.dim() < 1 or len(tensor) != len(hashes)):
            raise DataError("rows do not fit the hashes")
    return [row.tobytes().hex() for row in hashes.numpy()]


def _is_column(name: str, tensors: Mapping[str, Tensor]) -> bool:
    """Tell whether a tensor has one row per image: not the hashes themselves, nor byte strings and their ends."""
    return name != HASHES and not name.endswith(ENDS) and f"{name}{ENDS}" not in tensors


def _row_shape(tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    return str(tensor.dtype), tuple(tensor.shape[1:])


def _finite_rows(columns: Sequence[Tensor], count: int) -> list[bool]:
    """Tell for each of ``count`` rows whether all its numbers are finite."""
    finite = torch.ones(count, dtype=torch.bool)
    for column in columns:
        if column.is_floating_point():
            finite &= column.isfinite().flatten(1).all(dim=1) if column.dim() > 1 else column.isfinite()
    return [bool(row) for row in finite.tolist()]
