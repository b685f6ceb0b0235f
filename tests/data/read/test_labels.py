"""The label rules."""

import numpy as np
import pytest
import torch

from lond.data.pixels import ArrayPixels
from lond.data.read.labels import class_names_of, distinct, encode, make_samples, read_names, remap, sorted_class_names
from lond.errors import DataError
from lond.types import FOREIGN, UNLABELLED


def _pixels(count: int) -> ArrayPixels:
    return ArrayPixels(np.zeros((count, 4, 4, 3), dtype=np.uint8))


@pytest.mark.parametrize("missing", [None, float("nan"), "", "  ", "NaN", -2, "-2", np.float32("nan")])
def test_what_missing_means(missing: object) -> None:
    assert read_names(["a", missing]).values == ("a", None)


def test_numbers_are_named_by_their_digits() -> None:
    for values in ([10, 9], np.array([10, 9], dtype=np.uint8), torch.tensor([10, 9]), [10.0, 9.0], ["10.0", "9.0"]):
        names = read_names(values)
        assert names.values == ("10", "9") and names.numeric
        assert class_names_of(names) == ("9", "10")


def test_sorting_is_by_value_only_if_all_are_numbers() -> None:
    assert sorted_class_names(["10", "9", "-3"]) == ("-3", "9", "10")
    assert sorted_class_names(["10", "9", "a"]) == ("10", "9", "a")


@pytest.mark.parametrize("wrong", [[0.5], [(1, 2)], np.eye(3), "abc", 7])
def test_what_is_no_label(wrong: object) -> None:
    with pytest.raises(DataError, match="label"):
        read_names(wrong)


def test_bytes_are_text() -> None:
    assert read_names(np.array([b"cat"])).values == ("cat",)


def test_foreign_needs_permission() -> None:
    names = read_names(["cat", "cow", -1])
    assert encode(names, ["cat"], foreign_allowed=True).tolist() == [0, FOREIGN, FOREIGN]
    with pytest.raises(DataError, match="cow"):
        encode(names, ["cat"], foreign_allowed=False)
    with pytest.raises(DataError, match="test data only"):
        make_samples(_pixels(3), [0, 1, -1], None)


def test_numbers_are_positions_unless_classes_are_numbers() -> None:
    names = read_names([2, 0, 5])
    assert encode(names, ["a", "b", "c"], foreign_allowed=True).tolist() == [2, 0, FOREIGN]
    assert encode(names, ["0", "2", "5"], foreign_allowed=True).tolist() == [1, 0, 2]
    assert encode(names, ["0", "2", "5"], foreign_allowed=True, positions=True).tolist() == [2, 0, FOREIGN]


def test_make_samples_without_labels_and_with_truth() -> None:
    bare = make_samples(_pixels(2), None, None)
    assert bare.labels.tolist() == [UNLABELLED] * 2 and bare.class_names == ()
    samples = make_samples(_pixels(3), ["b", "a", None], None, ["a", "zebra", None])
    assert samples.labels.tolist() == [1, 0, UNLABELLED]
    assert samples.true_labels is not None and samples.true_labels.tolist() == [0, FOREIGN, UNLABELLED]
    assert samples.ids == ("0", "1", "2")


@pytest.mark.parametrize(("labels", "truth"), [([0], None), ([0, 1], [0])])
def test_lengths_must_agree(labels: list[int], truth: list[int] | None) -> None:
    with pytest.raises(DataError, match="2 images but 1"):
        make_samples(_pixels(2), labels, None, truth)


def test_remap_keeps_missing_and_foreign() -> None:
    samples = make_samples(_pixels(4), ["a", "b", -1, None], None, ["b", "a", None, -1], split="test")
    moved = remap(samples, ["b", "c"])
    assert moved.labels.tolist() == [FOREIGN, 0, FOREIGN, UNLABELLED]
    assert moved.true_labels is not None and moved.true_labels.tolist() == [0, FOREIGN, UNLABELLED, FOREIGN]
    assert moved.class_names == ("b", "c")
    assert remap(moved, ["b", "c"]) is moved


def test_repeated_class_names_are_told_apart() -> None:
    assert distinct(["crane", "cat", "crane"]) == ("crane", "cat", "crane (2)")


def test_names_too_long_for_a_class_are_refused_and_long_numbers_sorted() -> None:
    for value in ("7" * 5000, "x" * 5000, 10**4000):
        with pytest.raises(DataError, match="no name of a class"):
            read_names([value, "a"])
    long, longer = "9" * 400, "1" + "0" * 400
    assert sorted_class_names([longer, long, "2"]) == ("2", long, longer)
    assert read_names([f"{long}.0", "-0.0", "007.00", None]).values == (long, "0", "7", None)
    assert read_names(["-2.0", "1.0"]).values == (None, "1")
