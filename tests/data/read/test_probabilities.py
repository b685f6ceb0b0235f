"""Class probabilities of one's own: by order, by id, by class, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from lond.data.read.probabilities import read_probabilities
from lond.errors import DataError

VALUES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
IDS, CLASSES = ("a", "b", "c"), ("cat", "cow", "dog")
SHUFFLED = [2, 0, 1]


def check(found: torch.Tensor) -> None:
    assert found.dtype == torch.float32
    assert found.numpy() == pytest.approx(VALUES, abs=1e-3)


def test_arrays_and_files_without_ids_are_in_order(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", VALUES)
    np.savez(tmp_path / "rows.npz", pred_probs=VALUES.astype(np.float16))
    for given in (VALUES, VALUES.tolist(), torch.from_numpy(VALUES), tmp_path / "rows.npy", str(tmp_path / "rows.npz")):
        check(read_probabilities(given, IDS, CLASSES))


def test_ids_and_classes_are_matched(tmp_path: Path) -> None:
    names = np.array(IDS)[SHUFFLED]
    np.savez(
        tmp_path / "named.npz",
        probabilities=VALUES[SHUFFLED][:, SHUFFLED],
        ids=names,
        classes=np.array(CLASSES)[SHUFFLED],
    )
    table = pa.table({"id": names.tolist(), "pred_probs": VALUES[SHUFFLED].tolist()})
    pyarrow.parquet.write_table(table, tmp_path / "named.parquet")
    for name in ("named.npz", "named.parquet"):
        check(read_probabilities(tmp_path / name, IDS, CLASSES))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            VALUES[:2],
            r"shape \(2, 3\); 3 images and 3 classes need \(3, 3\), columns in this order: 'cat', 'cow', 'dog'",
        ),
        (VALUES[:, :2], "columns in this order"),
        (np.where(VALUES == 0.5, np.nan, VALUES), "row of 'c' holds NaN"),
        (np.log(VALUES), "give probabilities, not logits"),
        (VALUES * 2, r"row of 'a' does not sum to one.*3 such"),
        ([["x", "y", "z"]] * 3, "must be numbers"),
    ],
)
def test_what_is_no_probability_is_refused(values: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_probabilities(values, IDS, CLASSES)


def test_files_of_other_images_or_classes_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "ids.npz", pred_probs=VALUES, ids=np.array(["a", "b", "x"]))
    np.savez(tmp_path / "classes.npz", pred_probs=VALUES, classes=np.array(["cat", "cow", "pig"]))
    np.savez(tmp_path / "twice.npz", pred_probs=VALUES, classes=np.array(["cat", "cow", "dog", "dog"]))
    np.savez(tmp_path / "none.npz", embeddings=VALUES)
    for name, words in {
        "ids.npz": "no row of probabilities of 1 of 3 images, among them 'c'",
        "classes.npz": "not those of the images, e.g. 'dog', 'pig'",
        "twice.npz": "a class twice",
        "none.npz": "has no probabilities; its keys are embeddings",
        "nowhere.npz": "there is no file of probabilities",
    }.items():
        with pytest.raises(DataError, match=words):
            read_probabilities(tmp_path / name, IDS, CLASSES)
