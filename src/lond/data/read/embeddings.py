"""The user's embeddings from a file or an array, one row per image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from torch import Tensor

from lond.data.feature_views import FeaturePixels
from lond.data.read.arrays import FEATURE_KEYS
from lond.data.read.rows_by_id import RowKind, read_rows
from lond.errors import DataError

EMBEDDINGS = RowKind(
    "embedding",
    "embeddings",
    keys=FEATURE_KEYS,
    columns=("embedding", "embeddings", "features", "vector"),
    files=".npy (N, D), .npz with 'embeddings' and perhaps 'ids', or .parquet with 'embedding' and 'id' or 'path'",
)


def read_embeddings(path: Path | str | NDArray[Any] | Tensor, ids: Sequence[str]) -> FeaturePixels:
    """Return the embeddings of the images with these ids, in their order, from a file or an array in that order.

    A file without ids must have a row for every image, in the order in which the images are read. A file with ids may
    hold more images, in any order.

    Raises:
        DataError: the file cannot be read, or lacks an image.

    Examples:
        >>> import numpy as np
        >>> read_embeddings(np.zeros((2, 8)), ids=("a.jpg", "b.jpg")).values.shape
        (2, 1, 8)
    """
    if not isinstance(path, str | Path):
        given = FeaturePixels(path)
        if len(given) != len(ids):
            raise DataError(f"{len(given)} embeddings for {len(ids)} images; give a row for every image, in order")
        return given
    path = Path(path)
    values = read_rows(path, ids, EMBEDDINGS)
    try:
        return FeaturePixels(values)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
