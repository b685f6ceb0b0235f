"""Rows of numbers from a file, one per image, in the order of the images or matched by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lond.data.read.arrays import ID_KEYS, texts_of
from lond.data.read.numpy_files import NpzFile, read_npy
from lond.data.read.tables import read_parquet_columns
from lond.errors import DataError

ID_COLUMNS = ("id", "path")


@dataclass(frozen=True)
class RowKind:
    """What rows are called: one and many of them, and keys and columns that may hold them, the preferred one first."""

    one: str
    many: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    files: str
    """Files that may hold them, in words."""


def read_rows(path: Path, ids: Sequence[str], kind: RowKind) -> Any:
    """Return the rows of the images with these ids, in their order.

    A file without ids must have a row for every image, in the order in which the images are read. A file with ids may
    hold more images, in any order.

    Raises:
        DataError: the file cannot be read, or lacks an image.
    """
    if not path.is_file():
        raise DataError(f"there is no file of {kind.many} {path}")
    readers = {".npy": _from_npy, ".npz": _from_npz, ".parquet": _from_parquet}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path} is no file of {kind.many}; give {kind.files}")
    values, names = readers[path.suffix.lower()](path, kind)
    if names is not None:
        return values[_places(names, ids, path, kind)]
    # A single number is refused by whoever asks what the rows hold.
    if values.ndim and len(values) != len(ids):
        raise DataError(
            f"{path} has {len(values)} rows for {len(ids)} images; store ids with the {kind.many} ({kind.files}) "
            "or give a row for every image, in order"
        )
    return values


def _places(names: Sequence[str], ids: Sequence[str], path: Path, kind: RowKind) -> list[int]:
    if len(set(names)) != len(names):
        raise DataError(f"{path} names an id twice; each image needs one row")
    place = {name: row for row, name in enumerate(names)}
    missing = [name for name in ids if name not in place]
    if missing:
        raise DataError(
            f"{path} has no {kind.one} of {len(missing)} of {len(ids)} images, among them {missing[0]!r}; "
            + (f"its ids look like {names[0]!r}" if names else "it is empty")
        )
    return [place[name] for name in ids]


def _from_npy(path: Path, kind: RowKind) -> tuple[Any, None]:
    return read_npy(path), None


def _from_npz(path: Path, kind: RowKind) -> tuple[Any, list[str] | None]:
    with NpzFile(path) as content:
        values = next((content[key] for key in kind.keys if key in content), None)
        if values is None:
            raise DataError(f"{path} has no {kind.many}; its keys are {', '.join(content.files)}; give {kind.files}")
        ids = next((content[key] for key in ID_KEYS if key in content), None)
        names = None if ids is None else list(texts_of(ids, path))
    if names is not None and values.shape[:1] != (len(names),):
        count = values.shape[0] if values.ndim else 0
        raise DataError(f"{path} has {count} {kind.many} and {len(names)} ids")
    return values, names


def _from_parquet(path: Path, kind: RowKind) -> tuple[Any, list[str] | None]:
    table = read_parquet_columns(path)
    column = next((name for name in kind.columns if name in table), None)
    if column is None:
        raise DataError(f"{path} has no column {' or '.join(kind.columns)}; it has {', '.join(table)}")
    rows: list[Any] = list(table[column])
    if not rows or any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows):
        raise DataError(f"the column {column} of {path} must hold lists of numbers of one length")
    key = next((name for name in ID_COLUMNS if name in table), None)
    names = None if key is None else [str(name) for name in table[key]]
    try:
        return np.asarray(rows, dtype=np.float32), names
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"the column {column} of {path} must hold lists of numbers of one length") from error
