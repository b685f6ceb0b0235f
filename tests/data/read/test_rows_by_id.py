"""Rows from files: matched by id or taken in order; the formats are tested with embeddings and probabilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lond.data.read.rows_by_id import RowKind, read_rows
from lond.errors import DataError

KIND = RowKind("number", "numbers", ("numbers",), ("numbers",), "an .npz file")


def test_rows_follow_the_ids(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", numbers=np.arange(6).reshape(3, 2), ids=np.array(["c", "a", "b"]))
    assert read_rows(tmp_path / "rows.npz", ["a", "c"], KIND).tolist() == [[2, 3], [0, 1]]


def test_messages_use_the_words_of_the_kind(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", numbers=np.zeros((2, 1)), ids=np.array(["a", "b"]))
    np.savez(tmp_path / "empty.npz", numbers=np.zeros((0, 1)), ids=np.zeros(0, dtype=str))
    for path, words in (("rows.npz", "has no number of 1 of 1"), ("empty.npz", "empty"), ("no.npz", "file of numbers")):
        with pytest.raises(DataError, match=words):
            read_rows(tmp_path / path, ["z"], KIND)
