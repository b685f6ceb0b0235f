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
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lond.io.atomic import write_atomically
from lond.io.json_files import json_line

ROWS_A_FILE = 1024
"""Images of one file of the cache: what is lost when a run is killed."""

ABOUT = "about.json"
"""File that tells a person what a folder holds."""

Array = NDArray[Any]

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
        for path in sorted(self.folder.glob("*.safetensors")):
            self._index(path)

    def _index(self, path: Path) -> None:
        try:
            with safe_open(path, framework="numpy") as file:
                hashes = file.get_tensor("hashes")
        except (SafetensorError, OSError):
            # A damaged file counts as never written: its images are computed again.
            return
        for row, content in enumerate(hashes):
            self._places[content.tobytes().hex()] = (path, row)

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
        tensors = {column: np.ascontiguousarray(values) for column, values in columns.items()}
        tensors["hashes"] = np.frombuffer(bytes.fromhex("".join(hashes)), dtype=np.uint8).reshape(len(hashes), -1)
        for blob, parts in (blobs or {}).items():
            tensors[blob] = np.frombuffer(b"".join(parts), dtype=np.uint8)
            tensors[f"{blob}.ends"] = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        write_atomically(path, lambda place: save_file(tensors, place))
        self._places |= {content: (path, row) for row, content in enumerate(hashes)}

    def load(self, hashes: Sequence[str], column: str) -> Any | None:
        """Return the rows ``(N, ...)`` of images in this order, zeros for ""; None if there are no others.

        Raises:
            KeyError: an image is not stored.
        """
        by_file: dict[Path, list[tuple[int, int]]] = {}
        for place, content in enumerate(hashes):
            if content:
                path, row = self._places[content]
                by_file.setdefault(path, []).append((place, row))
        found: Array | None = None
        for path, pairs in by_file.items():
            with safe_open(path, framework="numpy") as file:
                stored = file.get_tensor(column)
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
                start, end = file.get_slice(f"{name}.ends")[row : row + 2].tolist()
                return bytes(file.get_slice(name)[start:end].tobytes())
        except (KeyError, OSError, SafetensorError):
            return b""
