"""Files of embeddings, which the audit itself reads again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lond.audit.formats.embeddings import write_embeddings
from lond.data.read.embeddings import read_embeddings
from lond.errors import ConfigError, DataError

VALUES = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
IDS = ("b/1.png", "a/2.png", "c", "d")


@pytest.mark.parametrize("name", ["features.npz", "features.parquet"])
def test_ids_travel_with_the_embeddings(tmp_path: Path, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    write_embeddings(tmp_path / name, IDS, VALUES)
    again = read_embeddings(tmp_path / name, IDS[::-1])
    assert np.array_equal(again.values[:, 0], VALUES[::-1])


def test_arrays_alone_keep_the_order(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "features.npy", IDS, VALUES)
    assert np.array_equal(read_embeddings(tmp_path / "features.npy", IDS).values[:, 0], VALUES)
    assert np.array_equal(read_embeddings(VALUES, IDS).values[:, 0], VALUES)
    with pytest.raises(DataError, match="4 embeddings for 3 images"):
        read_embeddings(VALUES, IDS[:3])
    with pytest.raises(ConfigError, match="not as 'features.csv'"):
        write_embeddings(tmp_path / "features.csv", IDS, VALUES)
