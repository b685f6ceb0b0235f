"""The features of an audit's images as a file that other tools, and ``lond audit --embeddings``, read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lond.data.options import optional_import
from lond.errors import ConfigError
from lond.io.atomic import write_atomically
from lond.io.csv_files import printable

SUFFIXES = (".npz", ".parquet", ".npy")


def check_suffix(path: Path) -> None:
    """Check that a file of embeddings has a known ending.

    Raises:
        ConfigError: it has none.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"embeddings are written as {', '.join(SUFFIXES)}, not as {path.name!r}")


def write_embeddings(path: Path, ids: Sequence[str], embeddings: NDArray[Any]) -> None:
    """Write embeddings ``(N, D)`` with the ids of their images, atomically.

    A ``.npz`` file has the arrays ``ids`` and ``embeddings``, a ``.parquet`` file the columns ``id`` and ``embedding``,
    a ``.npy`` file the embeddings alone, in the order of the audit's table.

    Raises:
        ConfigError: the file has no known ending.
        MissingDependencyError: Parquet without pyarrow.
    """
    check_suffix(path)
    names = [printable(name) for name in ids]
    if path.suffix.lower() == ".parquet":
        needs = "Parquet files need pyarrow: pip install 'lond[tables]'"
        arrow, parquet = optional_import("pyarrow", needs), optional_import("pyarrow.parquet", needs)
        kind = arrow.list_(arrow.float32())
        columns = {"id": names, "embedding": arrow.array(list(embeddings.astype(np.float32)), type=kind)}
        write_atomically(path, lambda place: parquet.write_table(arrow.table(columns), place))
        return

    def fill(place: Path) -> None:
        with place.open("wb") as file:
            if path.suffix.lower() == ".npy":
                np.save(file, embeddings)
            else:
                np.savez(file, ids=np.asarray(names, dtype=np.str_), embeddings=embeddings)

    write_atomically(path, fill)
