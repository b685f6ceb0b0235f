"""Label noise: the matrix, the draw against a slow one, the manifest, and the published check values."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lond.data.noise import NoiseSettings, add_noise, known_classes, label_hash, transition_matrix
from lond.errors import ConfigError
from lond.types import FOREIGN

KINDS = st.sampled_from(["symmetric", "asymmetric"])


def slow_row(true: int, total: int, known: int, kind: str, rate: float) -> list[float]:
    """One row of the matrix, entry by entry, from section 2 of the data sheet."""
    row = []
    for seen in range(total):
        if seen >= known:
            row.append(0.0)
        elif true >= known:
            row.append(1 / known)
        elif seen == true:
            row.append(1 - rate)
        elif kind == "symmetric":
            row.append(rate / (known - 1))
        else:
            following = 0 if true == known - 1 else true + 1
            row.append(rate if seen == following else 0.0)
    return row


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(2, 30), st.floats(0, 0.9), st.floats(0, 1), KINDS)
def test_matrix_equals_the_slow_one(total: int, open_ratio: float, rate: float, kind: str) -> None:
    noise = NoiseSettings(kind=kind, closed_rate=rate, open_ratio=open_ratio)
    known = known_classes(total, open_ratio)
    if known < 2:
        with pytest.raises(ConfigError, match="at least two"):
            transition_matrix(total, noise)
        return
    matrix = transition_matrix(total, noise)
    assert np.allclose(matrix.sum(axis=1), 1)
    assert np.allclose(matrix, [slow_row(true, total, known, kind, rate) for true in range(total)])


def test_two_classes_by_hand() -> None:
    for kind in ("symmetric", "asymmetric"):
        matrix = transition_matrix(2, NoiseSettings(kind=kind, closed_rate=0.3))
        assert matrix.tolist() == [[0.7, 0.3], [0.3, 0.7]]


def test_asymmetric_wraps_inside_the_known_block() -> None:
    matrix = transition_matrix(5, NoiseSettings(kind="asymmetric", closed_rate=1.0, open_ratio=0.4))
    assert matrix[:3].argmax(axis=1).tolist() == [1, 2, 0]
    assert np.allclose(matrix[3:], [[1 / 3] * 3 + [0, 0]] * 2)


@pytest.mark.parametrize(("total", "ratio", "known"), [(100, 0.2, 80), (100, 0.43, 57), (10, 0.0, 10), (20, 0.2, 16)])
def test_known_classes_are_rounded_not_cut(total: int, ratio: float, known: int) -> None:
    assert known_classes(total, ratio) == known


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("seed", [0, 7])
def test_draw_equals_one_multinomial_an_image(kind: str, seed: int) -> None:
    truth = np.random.default_rng(1).integers(0, 10, 500)
    noise = NoiseSettings(kind=kind, closed_rate=0.4, open_ratio=0.2, seed=seed)
    random, expected = np.random.RandomState(seed), []
    for true in truth:
        counts = random.multinomial(1, np.array(slow_row(int(true), 10, 8, kind, 0.4)), 1)[0]
        expected.append(int(np.where(counts == 1)[0][0]))
    noisy = add_noise(truth, 10, noise)
    assert noisy.labels.tolist() == expected
    assert noisy.true_labels.tolist() == [int(true) if true < 8 else FOREIGN for true in truth]
    assert noisy.labels.dtype == noisy.true_labels.dtype == torch.int64
    assert torch.equal(add_noise(torch.from_numpy(truth), 10, noise).labels, noisy.labels)


def test_the_draw_leaves_the_global_generator_alone() -> None:
    np.random.seed(3)
    expected = np.random.RandomState(3).rand()
    add_noise(np.arange(4), 4, NoiseSettings())
    assert np.random.rand() == expected


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric"])
def test_rates_of_zero_and_one(kind: str) -> None:
    truth = np.tile(np.arange(6), 50)
    none = add_noise(truth, 6, NoiseSettings(kind=kind, closed_rate=0.0))
    assert none.labels.tolist() == truth.tolist()
    assert none.manifest["actual"] == {"closed_rate": 0.0, "open_share": 0.0, "overall": 0.0}
    every = add_noise(truth, 6, NoiseSettings(kind=kind, closed_rate=1.0))
    assert not (every.labels.numpy() == truth).any()
    assert every.manifest["actual"]["overall"] == 1.0


def test_manifest_holds_nominal_and_actual_rates() -> None:
    truth = np.tile(np.arange(10), 300)
    noisy = add_noise(truth, 10, NoiseSettings(closed_rate=0.3, open_ratio=0.2))
    manifest = noisy.manifest
    assert manifest["known_classes"] == 8
    assert manifest["noise"] == {"kind": "symmetric", "closed_rate": 0.3, "open_ratio": 0.2, "seed": 0}
    assert manifest["nominal"] == pytest.approx({"closed_rate": 0.3, "overall": 0.2 + 0.8 * 0.3})
    known = truth < 8
    wrong = noisy.labels.numpy() != truth
    assert manifest["actual"]["closed_rate"] == pytest.approx(wrong[known].mean())
    assert manifest["actual"]["open_share"] == pytest.approx(0.2)
    assert manifest["actual"]["overall"] == pytest.approx((wrong & known).mean() + 0.2)
    assert np.allclose(manifest["matrix"], transition_matrix(10, NoiseSettings(closed_rate=0.3, open_ratio=0.2)))
    assert manifest["labels_sha256"] == label_hash(noisy.labels)


def test_no_image_at_all() -> None:
    noisy = add_noise(np.empty(0, dtype=np.int64), 3, NoiseSettings())
    assert len(noisy.labels) == 0
    assert noisy.manifest["actual"]["overall"] == 0.0


def test_only_unknown_images() -> None:
    noisy = add_noise(np.full(9, 4), 5, NoiseSettings(open_ratio=0.2))
    assert (noisy.true_labels == FOREIGN).all()
    assert noisy.manifest["actual"] == {"closed_rate": 0.0, "open_share": 1.0, "overall": 1.0}


def test_hash_is_over_one_byte_a_label_while_that_is_enough() -> None:
    assert label_hash(np.array([0, 1, 255])) == hashlib.sha256(bytes([0, 1, 255])).hexdigest()[:16]
    wide = np.array([0, 256], dtype="<i4").tobytes()
    assert label_hash(torch.tensor([0, 256])) == hashlib.sha256(wide).hexdigest()[:16]
    assert label_hash(np.array([0, -1])) != label_hash(np.array([0, 255]))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"kind": "pairflip"}, "pairflip"),
        ({"closed_rate": -0.1}, "closed_rate"),
        ({"closed_rate": 1.1}, "closed_rate"),
        ({"open_ratio": 1.0}, "open_ratio"),
        ({"open_ratio": -0.1}, "open_ratio"),
    ],
)
def test_settings_that_mean_nothing_are_refused(values: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        NoiseSettings(**values)


@pytest.mark.parametrize("labels", [[0, 3], [-1, 0]])
def test_labels_outside_the_classes_are_refused(labels: list[int]) -> None:
    with pytest.raises(ConfigError, match=r"0\.\.2"):
        add_noise(np.array(labels), 3, NoiseSettings())


CHECK_VALUES = [
    (0.2, "symmetric", 0.2, "1ab729333e165ad6", [52, 29, 0, 11, 1, 51, 60, 28, 46, 31], 0.36116, 0.20145),
    (0.2, "symmetric", 0.8, "d4ce0aaf32927a6b", [19, 32, 69, 26, 1, 58, 59, 28, 59, 60], 0.84148, 0.80185),
    (0.2, "asymmetric", 0.4, "86714d1107a495a2", [19, 30, 0, 11, 2, 45, 69, 29, 24, 31], 0.51746, 0.39682),
    (0.0, "symmetric", 0.2, "02d53bf7241d197f", [52, 29, 0, 11, 1, 51, 90, 28, 23, 31], 0.20108, 0.20108),
    (0.0, "symmetric", 0.8, "792fb9d2cd108ea0", [19, 32, 94, 1, 1, 58, 75, 90, 23, 45], 0.79904, 0.79904),
    (0.0, "asymmetric", 0.4, "18ce7d9f174478b4", [19, 30, 0, 11, 2, 87, 90, 29, 23, 32], 0.39732, 0.39732),
]
"""Section 10 of the data sheet: the authors' own routine on CIFAR-100, seed 0."""


@pytest.fixture(scope="module")
def cifar100_labels() -> np.ndarray:
    from lond.data.read.cifar import CIFAR100, find_folder, read_pickle

    root = Path(os.environ.get("LOND_DATA", "data"))
    folder = find_folder(root, CIFAR100)
    if folder is None:
        pytest.skip(f"no {CIFAR100.folder} in {root}; set LOND_DATA to the folder that holds it")
    return np.array(read_pickle(folder / "train")["fine_labels"])


@pytest.mark.data
@pytest.mark.parametrize(
    ("open_ratio", "kind", "rate", "sha256", "first", "overall", "closed"),
    CHECK_VALUES,
    ids=[f"open{row[0]}-{row[1]}{row[2]}" for row in CHECK_VALUES],
)
def test_published_check_values(
    cifar100_labels: np.ndarray,
    open_ratio: float,
    kind: str,
    rate: float,
    sha256: str,
    first: list[int],
    overall: float,
    closed: float,
) -> None:
    noise = NoiseSettings(kind=kind, closed_rate=rate, open_ratio=open_ratio)
    noisy = add_noise(cifar100_labels, 100, noise)
    assert noisy.labels[:10].tolist() == first
    assert noisy.manifest["labels_sha256"] == sha256
    assert hashlib.sha256(noisy.labels.numpy().astype(np.uint8).tobytes()).hexdigest()[:16] == sha256
    # The sheet gives five decimals.
    assert noisy.manifest["actual"]["overall"] == pytest.approx(overall, abs=5.1e-6)
    assert noisy.manifest["actual"]["closed_rate"] == pytest.approx(closed, abs=5.1e-6)
