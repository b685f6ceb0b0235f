"""Embeddings of one's own: by order, by id, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from lond.data.feature_views import FeaturePixels
from lond.data.read.embeddings import read_embeddings
from lond.data.sources import has_split, load
from lond.errors import DataError

VALUES = np.arange(12, dtype=np.float32).reshape(4, 3)
IDS = ("a", "b", "c", "d")
SHUFFLED = [2, 0, 3, 1]


def test_rows_without_ids_are_taken_in_order(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", VALUES)
    np.savez(tmp_path / "rows.npz", features=VALUES)
    for name in ("rows.npy", "rows.npz"):
        assert np.array_equal(read_embeddings(tmp_path / name, IDS).values[:, 0], VALUES)


def test_rows_with_ids_are_matched(tmp_path: Path) -> None:
    names = [IDS[place] for place in SHUFFLED]
    np.savez(tmp_path / "named.npz", embeddings=VALUES[SHUFFLED], ids=np.array(names))
    table = pa.table({"path": names, "embedding": VALUES[SHUFFLED].tolist()})
    pyarrow.parquet.write_table(table, tmp_path / "named.parquet")
    for name in ("named.npz", "named.parquet"):
        assert np.array_equal(read_embeddings(tmp_path / name, IDS).values[:, 0], VALUES)
        assert np.array_equal(read_embeddings(tmp_path / name, ("d",)).values[:, 0], VALUES[3:])


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", VALUES[:2])
    np.savez(tmp_path / "twice.npz", embeddings=VALUES, ids=np.array(["a", "a", "b", "c"]))
    np.savez(tmp_path / "fewer.npz", embeddings=VALUES, ids=np.array(["a"]))
    np.savez(tmp_path / "other.npz", embeddings=VALUES, ids=np.array(["a", "b", "c", "e"]))
    np.savez(tmp_path / "none.npz", stuff=VALUES)
    np.save(tmp_path / "nan.npy", np.full((4, 3), np.nan))
    pyarrow.parquet.write_table(pa.table({"id": list(IDS)}), tmp_path / "none.parquet")
    pyarrow.parquet.write_table(pa.table({"embedding": [[1.0], [1.0, 2.0]]}), tmp_path / "ragged.parquet")
    (tmp_path / "text.npy").write_text("no")
    (tmp_path / "rows.txt").write_text("no")
    for name, words in {
        "short.npy": "2 rows for 4 images",
        "twice.npz": "names an id twice",
        "fewer.npz": "4 embeddings and 1 ids",
        "other.npz": "no embedding of 1 of 4 images, among them 'd'",
        "none.npz": "its keys are stuff",
        "nan.npy": "NaN",
        "none.parquet": "has no column embedding",
        "ragged.parquet": "of one length",
        "text.npy": "not a readable .npy",
        "rows.txt": "is no file of embeddings",
        "missing.npy": "there is no file",
    }.items():
        with pytest.raises(DataError, match=words):
            read_embeddings(tmp_path / name, IDS)


def test_embeddings_with_labels_are_a_source(tmp_path: Path) -> None:
    labels = np.array(["x", "y", "x", "y"])
    np.savez(tmp_path / "set.npz", embeddings=VALUES, labels=labels, ids=np.array(IDS))
    samples = load(tmp_path / "set.npz")
    assert isinstance(samples.pixels, FeaturePixels)
    assert samples.ids == IDS
    assert samples.labels.tolist() == [0, 1, 0, 1]
    assert not has_split(tmp_path / "set.npz", "test")
    divided = {"features_train": VALUES, "y_train": labels, "features_test": VALUES[:1], "y_test": labels[:1]}
    np.savez(tmp_path / "divided.npz", **divided)
    assert has_split(tmp_path / "divided.npz", "test")
    assert len(load(tmp_path / "divided.npz", "test", class_names=("x", "y"))) == 1
    np.savez(tmp_path / "bad.npz", embeddings=VALUES, labels=labels, ids=np.array(["a"] * 4))
    with pytest.raises(DataError, match="one id of its own"):
        load(tmp_path / "bad.npz")


def test_a_matrix_in_memory_is_embeddings() -> None:
    samples = load((VALUES, [0, 1, 0, 1]))
    assert isinstance(samples.pixels, FeaturePixels)
    assert samples.pixels.size == (1, 3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"embeddings": VALUES, "ids": np.array("one")}, r"ids of .* must be a list, not an array of shape \(\)"),
        ({"embeddings": VALUES, "ids": np.array([IDS])}, r"must be a list, not an array of shape \(1, 4\)"),
        ({"embeddings": VALUES[0, 0]}, "features must be numbers"),
        ({"embeddings": np.array([{}] * 4, dtype=object)}, "Python objects"),
        ({"embeddings": VALUES, "ids": np.array(list(IDS), dtype=object)}, "Python objects"),
        ({"embeddings": VALUES * np.nan}, r"bad\.npz: features hold NaN"),
        ({"embeddings": np.array(["a"] * 4)}, "features must be numbers"),
    ],
)
def test_arrays_that_are_no_embeddings_are_refused(content: dict[str, object], words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", **content)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=words):
        read_embeddings(tmp_path / "bad.npz", IDS)


def test_a_bad_check_sum_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", embeddings=VALUES)
    content = bytearray((tmp_path / "bad.npz").read_bytes())
    content[content.index(VALUES.tobytes()) + 1] ^= 1
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(DataError, match="Bad CRC-32"):
        read_embeddings(tmp_path / "bad.npz", IDS)


@pytest.mark.parametrize("kind", ["text", "words", "gaps", "twice"])
def test_parquet_that_is_no_embeddings_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    if kind == "text":
        path.write_text("id,embedding\n1,2\n")
    elif kind == "twice":
        pa.parquet.write_table(pa.Table.from_arrays([pa.array([[1.0]]), pa.array([[2.0]])], ["embedding"] * 2), path)
    else:
        rows = [["a"], ["b"]] if kind == "words" else [[1.0, None], [1.0, 2.0]]
        pa.parquet.write_table(pa.table({"embedding": rows}), path)
    words = {"text": "not a readable Parquet file", "twice": "more than one column called 'embedding'"}
    with pytest.raises(DataError, match=words.get(kind, "lists of numbers|features hold NaN")):
        read_embeddings(path, IDS[:2])
