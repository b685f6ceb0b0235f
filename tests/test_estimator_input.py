"""What a user hands to the estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import DataConversionWarning

from lond.data.feature_views import is_features
from lond.errors import DataError
from lond.estimator_input import class_array, is_table, new_table, one_label_each, training_set
from lond.types import UNLABELLED

IMAGES = np.zeros((4, 8, 8), np.uint8)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([7, 3, 7, 3]), [3, 7]),
        (np.array(["b", "a", "b", "a"]), ["a", "b"]),
        ([10, 9, 10, 9], [9, 10]),
        (np.array([True, False, True, False]), [False, True]),
    ],
)
def test_classes_are_the_users_own_values(labels: Any, classes: list[Any]) -> None:
    samples, found = training_set(IMAGES, labels, None)
    assert sorted(found.tolist()) == classes and type(found.tolist()[0]) is type(classes[0])
    assert [found.tolist()[label] for label in samples.labels] == list(labels)


def test_missing_labels_are_no_class_and_true_labels_share_the_classes() -> None:
    samples, found = training_set(IMAGES, ["a", None, "b", "a"], ["b", "b", "b", "a"])
    assert found.tolist() == ["a", "b"]
    assert samples.labels.tolist() == [0, UNLABELLED, 1, 0]
    assert samples.true_labels is not None and samples.true_labels.tolist() == [1, 1, 1, 0]


def test_a_source_brings_its_own_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=IMAGES, y=np.array(["b", "a", "b", "a"]))
    samples, found = training_set(tmp_path / "own.npz", None, None)
    assert (found.tolist(), samples.labels.tolist()) == (["a", "b"], [1, 0, 1, 0])
    with pytest.raises(DataError, match=r"y and true_labels belong to arrays of images; a \w*Path brings its own"):
        training_set(tmp_path / "own.npz", [0, 1, 0, 1], None)
    with pytest.raises(DataError, match="images in an array need their labels y"):
        training_set(IMAGES, None, None)


def test_numbers_beside_names_stay_numbers() -> None:
    assert class_array([1, "a"]).tolist() == [1, "a"]
    assert class_array(["a", "b"]).dtype.kind == "U" and class_array([1, 2]).dtype.kind == "i"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.zeros((4, 3)), True),
        (torch.zeros(4, 3), True),
        ([[1, 2], [3, 4]], True),
        (pd.DataFrame({"a": [1.0], "b": [2.0]}), True),
        (IMAGES, False),
        (np.zeros(4), False),
        ([[1], [2, 3]], False),
        ("photos", False),
        (Path("photos"), False),
    ],
)
def test_tables_are_told_from_images_and_sources(given: Any, expected: bool) -> None:
    assert is_table(given) is expected


def test_features_become_samples() -> None:
    samples, found = training_set(np.eye(4), [0, 1, 0, 1], None)
    assert is_features(samples.pixels) and found.tolist() == [0, 1]
    asked = new_table(np.eye(4)[:3], samples.class_names)
    assert is_features(asked.pixels) and asked.class_names == samples.class_names and len(asked) == 3


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_whole_numbers_keep_their_kind(dtype: str) -> None:
    assert training_set(IMAGES, np.array([3, 1, 3, 1], dtype=dtype), None)[1].dtype == dtype


def test_a_column_of_labels_is_one_and_measurements_are_none() -> None:
    with pytest.warns(DataConversionWarning):
        assert one_label_each(np.array([[0], [1]])).tolist() == [0, 1]
    with pytest.raises(ValueError, match="Unknown label type"):
        one_label_each(np.array([0.5, 1.25, 2.75]))
    assert np.isnan(one_label_each(np.array([1.0, np.nan]))[1])
