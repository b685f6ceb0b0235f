"""Verification and correction by neighbours against loops, by hand, in blocks and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lond.identify import correct_labels, label_divergences, neighbourhood, verify_labels


def smoothed(label: int, classes: int) -> list[float]:
    return [1 - 1e-4 if c == label else 1e-4 for c in range(classes)]


def divergence(p: list[float], q: list[float]) -> float:
    """KL(p || m) / 2 + KL(q || m) / 2 in bits, term by term."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        middle = (a + b) / 2
        total += sum(x * math.log2(x / middle) for x in (a, b) if x > 0) / 2
    return total


def case(rows: int, classes: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    features = torch.nn.functional.normalize(torch.randn(rows, 6, generator=random), dim=1)
    probabilities = torch.randn(rows, classes, generator=random).mul(3).softmax(dim=1)
    return features, probabilities, torch.randint(classes, (rows,), generator=random)


@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (9, 5), (3, 100)])
def test_divergences_equal_the_loop(rows: int, classes: int) -> None:
    _, probabilities, _ = case(rows, classes)
    got = label_divergences(probabilities)
    assert got.dtype == torch.float32
    table = [[divergence(p, smoothed(c, classes)) for c in range(classes)] for p in probabilities.double().tolist()]
    np.testing.assert_allclose(got, table, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_a_sure_and_right_prediction_keeps_the_floor_of_the_smoothing(classes: int) -> None:
    """Each of the C - 1 other classes leaves 0.5e-4: the label is not normalised."""
    got = label_divergences(torch.eye(classes))
    assert got.isfinite().all()
    np.testing.assert_allclose(got.diagonal(), 0.5e-4 * (classes - 1), rtol=1e-3, atol=1e-8)
    assert (got > 0).all()


def test_published_thresholds() -> None:
    """At 100 classes a threshold of 0.9 lets neighbours through that give the label 1.8 %, at 80 classes 2 %."""
    for classes, share, expected in (
        (100, 0.017, 0.9026), (100, 0.018, 0.8996), (80, 0.018, 0.9054), (80, 0.02, 0.8997),
    ):  # fmt: skip
        rows = torch.full((1, classes), (1 - share) / (classes - 1)).index_fill(1, torch.tensor([0]), share)
        assert label_divergences(rows)[0, 0].item() == pytest.approx(expected, abs=5e-5)
    flat = torch.full((1, 100), 0.01)
    assert 0.9 < label_divergences(flat)[0, 0] < 0.97


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _, probabilities, _ = case(23, 4)
    whole = label_divergences(probabilities)
    for size in (1, 7 * 32):
        monkeypatch.setattr(neighbourhood, "BLOCK_BYTES", size)
        assert torch.equal(label_divergences(probabilities), whole)
    assert label_divergences(probabilities[:0]).shape == (0, 4)


@pytest.mark.parametrize("k", [1, 4, 99])
def test_verification_equals_the_loop(k: int) -> None:
    features, probabilities, labels = case(15, 4)
    labels[3] = -2
    got = verify_labels(features, probabilities, labels, k)
    similarities = (features @ features.T).tolist()
    for i, label in enumerate(labels.tolist()):
        others = sorted((j for j in range(15) if j != i), key=lambda j: -similarities[i][j])[:k]
        wanted = [divergence(probabilities[j].double().tolist(), smoothed(label, 4)) for j in others]
        assert got[i].item() == pytest.approx(1.0 if label < 0 else sum(wanted) / len(wanted), abs=1e-6)


def test_a_sample_never_votes_on_itself() -> None:
    """Sample 0 is sure of its label; its only neighbours are sure of the other one."""
    features = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]])
    probabilities = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert verify_labels(features, probabilities, torch.tensor([0, 1, 1]), 2)[0] > 0.99


@pytest.mark.parametrize("k", [1, 3, 50])
def test_correction_equals_the_loop(k: int) -> None:
    features, probabilities, labels = case(20, 4, seed=3)
    got = correct_labels(features[:8], probabilities[:8], features[8:], labels[8:], k)
    similarities = (features[:8] @ features[8:].T).tolist()
    for i in range(8):
        nearest = sorted(range(12), key=lambda j: -similarities[i][j])[:k]
        votes = np.zeros(4)
        distances = []
        for j in nearest:
            label = smoothed(int(labels[8 + j]), 4)
            distances.append(divergence(probabilities[i].double().tolist(), label))
            votes += (1 - distances[-1]) * np.array(label)
        assert got.labels[i] == votes.argmax()
        assert got.divergences[i].item() == pytest.approx(np.mean(distances), abs=1e-6)


def test_correction_of_nothing_and_by_one() -> None:
    features, probabilities, labels = case(5, 2)
    none = correct_labels(features[:0], probabilities[:0], features, labels, 3)
    assert none.labels.shape == none.divergences.shape == (0,)
    one = correct_labels(features, probabilities, features[:1], torch.tensor([1]), 20)
    assert one.labels.tolist() == [1] * 5


def test_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="candidate"):
        verify_labels(torch.ones(1, 2), torch.ones(1, 2) / 2, torch.zeros(1, dtype=torch.long), 3)
