"""Accuracy against a loop and scikit-learn."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn.metrics import balanced_accuracy_score

from lond.evaluate import accuracy, balanced_accuracy


def test_accuracy_ignores_foreign_and_unlabelled() -> None:
    predicted = torch.tensor([0, 1, 2, 2, 0])
    labels = torch.tensor([0, 1, 1, -1, -2])
    assert accuracy(predicted, labels) == pytest.approx(2 / 3)


@pytest.mark.parametrize("measure", [accuracy, balanced_accuracy])
def test_no_known_sample_gives_nan(measure) -> None:  # type: ignore[no-untyped-def]
    assert math.isnan(measure(torch.tensor([0, 1]), torch.tensor([-1, -1])))
    assert math.isnan(measure(torch.zeros(0).long(), torch.zeros(0).long()))


@pytest.mark.parametrize("seed", range(5))
def test_against_references(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    predicted = torch.randint(0, 7, (300,), generator=generator)
    labels = torch.randint(-1, 5, (300,), generator=generator)
    pairs = [(p, t) for p, t in zip(predicted.tolist(), labels.tolist(), strict=True) if t >= 0]
    assert accuracy(predicted, labels) == pytest.approx(sum(p == t for p, t in pairs) / len(pairs), abs=1e-12)
    classes = {t for _, t in pairs}
    recalls = [sum(p == t == c for p, t in pairs) / sum(t == c for _, t in pairs) for c in classes]
    assert balanced_accuracy(predicted, labels) == pytest.approx(sum(recalls) / len(recalls), abs=1e-12)


@pytest.mark.filterwarnings("ignore:y_pred contains classes")
def test_balanced_accuracy_equals_sklearn_and_skips_absent_classes() -> None:
    predicted = torch.tensor([0, 0, 3, 5, 3, 1])
    labels = torch.tensor([0, 0, 0, 5, 5, 5])
    expected = balanced_accuracy_score(labels.numpy(), predicted.numpy())
    assert balanced_accuracy(predicted, labels) == pytest.approx(expected, abs=1e-12)


def test_lengths_must_match() -> None:
    with pytest.raises(ValueError, match="equally long"):
        accuracy(torch.zeros(3).long(), torch.zeros(1).long())
