"""The user's embeddings from a file, one row per image, in the order of the images or matched by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lond.data.feature_views import FeaturePixels
from lond.data.read.arrays import ID_KEYS, read_features, texts_of
from lond.data.read.numpy_files import NpzFile, read_npy
from lond.data.read.tables import read_parquet_columns
from lond.errors import DataError

VECTOR_COLUMNS = ("embedding", "embeddings", "features", "vector")
"""Columns of a table that may hold the vectors, the preferred one first."""

ID_COLUMNS = ("id", "path")

KINDS = ".npy (N, D), .npz with 'embeddings' and perhaps 'ids', or .parquet with 'embedding' and 'id' or 'path'"


def read_embeddings(path: Path | str | NDArray[Any] | Tensor, ids: Sequence[str]) -> FeaturePixels:
    """Return the embeddings of the images with these ids, in their order, from a file or an array in that order.

    A file without ids must have a row for every image, in the order in which the images are read. A file with ids may
    hold more images, in any order.

    Raises:
        DataError: the file cannot be read, or lacks an image.

    Examples:
        >>> read_embeddings(np.zeros((2, 8)), ids=("a.jpg", "b.jpg")).values.shape
        (2, 1, 8)
    """
    if not isinstance(path, str | Path):
        given = FeaturePixels(path)
        if len(given) != len(ids):
            raise DataError(f"{len(given)} embeddings for {len(ids)} images; give a row for every image, in order")
        return given
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file of embeddings {path}")
    readers = {".npy": _from_npy, ".npz": _from_npz, ".parquet": _from_parquet}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path} is no file of embeddings; give {KINDS}")
    values, names = readers[path.suffix.lower()](path)
    found = _features(values, path)
    if names is None:
        if len(found) != len(ids):
            raise DataError(
                f"{path} has {len(found)} rows for {len(ids)} images; store ids with the embeddings ({KINDS}) "
                "or give a row for every image, in order"
            )
        return found
    return FeaturePixels(found.values[_places(names, ids, path)])


def _features(values: Any, path: Path) -> FeaturePixels:
    try:
        return FeaturePixels(values)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _places(names: Sequence[str], ids: Sequence[str], path: Path) -> list[int]:
    if len(set(names)) != len(names):
        raise DataError(f"{path} names an id twice; each image needs one row")
    place = {name: row for row, name in enumerate(names)}
    missing = [name for name in ids if name not in place]
    if missing:
        raise DataError(
            f"{path} has no embedding of {len(missing)} of {len(ids)} images, among them {missing[0]!r}; "
            f"its ids look like {names[0]!r}"
        )
    return [place[name] for name in ids]


def _from_npy(path: Path) -> tuple[Any, None]:
    return read_npy(path), None


def _from_npz(path: Path) -> tuple[Any, list[str] | None]:
    with NpzFile(path) as content:
        values = read_features(content, [""])
        if values is None:
            raise DataError(f"{path} has no embeddings; its keys are {', '.join(content.files)}; give {KINDS}")
        ids = next((content[key] for key in ID_KEYS if key in content), None)
        names = None if ids is None else list(texts_of(ids, path))
    if names is not None and len(names) != values.shape[:1][0]:
        raise DataError(f"{path} has {values.shape[0]} embeddings and {len(names)} ids")
    return values, names


def _from_parquet(path: Path) -> tuple[Any, list[str] | None]:
    table = read_parquet_columns(path)
    vector = next((name for name in VECTOR_COLUMNS if name in table), None)
    if vector is None:
        raise DataError(f"{path} has no column {' or '.join(VECTOR_COLUMNS)}; it has {', '.join(table)}")
    rows: list[Any] = list(table[vector])
    if not rows or any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows):
        raise DataError(f"the column {vector} of {path} must hold lists of numbers of one length")
    key = next((name for name in ID_COLUMNS if name in table), None)
    names = None if key is None else [str(name) for name in table[key]]
    try:
        return np.asarray(rows, dtype=np.float32), names
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"the column {vector} of {path} must hold lists of numbers of one length") from error
