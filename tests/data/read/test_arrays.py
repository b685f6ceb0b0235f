"""Arrays and .npz files."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lond.data.read.arrays import from_arrays, npz_has_split, read_npz
from lond.errors import DataError
from lond.types import FOREIGN, UNLABELLED


def _images(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)


def test_numbers_and_names() -> None:
    numbers = from_arrays(_images(4), [7, 3, 7, -2])
    assert numbers.class_names == ("3", "7")
    assert numbers.labels.tolist() == [1, 0, 1, UNLABELLED]
    names = from_arrays(torch.from_numpy(_images(3)), np.array(["b", "a", "b"]))
    assert names.class_names == ("a", "b") and names.labels.tolist() == [1, 0, 1]
    gaps = from_arrays(_images(3), np.array([0.0, np.nan, 1.0]))
    assert gaps.labels.tolist() == [0, UNLABELLED, 1]
    assert gaps.labels.dtype == torch.int64


def test_class_names_make_numbers_positions() -> None:
    samples = from_arrays(_images(3), [2, 0, 2], ["c", "b", "a"], [2, 1, -1])
    assert samples.class_names == ("c", "b", "a") and samples.labels.tolist() == [2, 0, 2]
    assert samples.true_labels is not None and samples.true_labels.tolist() == [2, 1, FOREIGN]
    with pytest.raises(DataError, match="outside the 2 classes: 5"):
        from_arrays(_images(1), [5], ["a", "b"])
    assert from_arrays(_images(1), [5], ["a", "b"], split="test").labels.tolist() == [FOREIGN]


def test_no_labels() -> None:
    assert from_arrays(_images(2)).labels.tolist() == [UNLABELLED] * 2


@pytest.mark.parametrize(
    ("x", "y", "true"), [("x", "y", "true_labels"), ("images", "labels", "y_true"), ("X", "y", "y_true")]
)
def test_npz_keys(tmp_path: Path, x: str, y: str, true: str) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, **{x: _images(3), y: np.array([0, 1, 1]), true: np.array([0, 0, -1])})
    samples = read_npz(path)
    assert samples.labels.tolist() == [0, 1, 1] and samples.origin == str(path)
    assert samples.true_labels is not None and samples.true_labels.tolist() == [0, 0, FOREIGN]
    assert npz_has_split(path, "train") and not npz_has_split(path, "test")


def test_npz_splits_and_class_names(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    names = np.array(["10", "20", "20"])
    np.savez_compressed(
        path,
        x_train=_images(3),
        y_train=np.array([0, 1, 2]),
        x_test=_images(2),
        y_test=np.array([2, 0]),
        class_names=names,
    )
    assert read_npz(path).class_names == ("10", "20", "20 (2)")
    assert read_npz(path, "test").labels.tolist() == [2, 0]
    assert npz_has_split(path, "test") and npz_has_split(path, "train")


def test_npz_without_the_asked_split_or_keys(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x_train=_images(2), y_train=np.array([0, 1]))
    assert not npz_has_split(tmp_path / "a.npz", "test")
    with pytest.raises(DataError, match="x_test.*x_train"):
        read_npz(tmp_path / "a.npz", "test")
    np.savez(tmp_path / "b.npz", pictures=_images(2))
    with pytest.raises(DataError, match="its keys are pictures"):
        read_npz(tmp_path / "b.npz")


def test_npz_refuses_pickles_and_rubbish(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=_images(2), y=np.array([None, {"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read"):
        read_npz(tmp_path / "a.npz")
    for content in (b"", b"rubbish", b"PK\x03\x04 rubbish"):
        (tmp_path / "b.npz").write_bytes(content)
        with pytest.raises(DataError, match=r"not a readable \.npz"):
            read_npz(tmp_path / "b.npz")
    with (tmp_path / "c.npz").open("wb") as file:
        np.save(file, _images(2))
    with pytest.raises(DataError, match="numpy.savez"):
        read_npz(tmp_path / "c.npz")
    with pytest.raises(DataError, match="no file"):
        read_npz(tmp_path / "absent.npz")


def test_wrong_shapes_are_explained() -> None:
    with pytest.raises(DataError, match="3 images but 2 labels"):
        from_arrays(_images(3), [0, 1])
    with pytest.raises(DataError, match="one number or name per image"):
        from_arrays(_images(3), np.eye(3))


def test_class_names_must_be_a_list(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((2, 4, 4, 3), np.uint8), y=[0, 1], class_names=np.array("ant"))
    with pytest.raises(DataError, match=r"class_names must be a list of names, not an array of shape \(\)"):
        read_npz(tmp_path / "a.npz")
