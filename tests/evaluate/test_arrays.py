"""What metrics take: tensors, NumPy arrays and lists alike, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from lond.evaluate import (
    accuracy,
    aupr_foreign,
    aupr_known,
    auroc,
    balanced_accuracy,
    evaluate_predictions,
    expected_calibration_error,
    fpr95,
    fpr95_openood,
    roc_points,
    selection_quality,
    verdict_quality,
)
from lond.evaluate.arrays import as_classes, as_tensor
from lond.types import Partition, Prediction, Verdict

LABELS, PREDICTED = torch.tensor([0, 1, 2, 1, -1, 0]), torch.tensor([0, 1, 1, 1, 2, 2])
SCORES, FOREIGN = torch.tensor([0.1, 0.4, 0.2, 0.8, 0.9, 0.4]), LABELS < 0
PROBABILITIES = torch.eye(3)[PREDICTED] * 0.7 + 0.1
FORMS: list[Callable[[Any], Any]] = [
    lambda t: t.numpy(),
    lambda t: t.tolist(),
    lambda t: t.numpy()[::-1].copy()[::-1],
    lambda t: t.numpy().astype(t.numpy().dtype.newbyteorder()),
]
PARTITION = Partition(
    clean=LABELS == 0, closed=LABELS == 1, open=LABELS == -1, corrected=LABELS.clamp(min=0), weights=torch.ones(6)
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("metric", [accuracy, balanced_accuracy])
def test_classes(metric: Any, form: Any) -> None:
    assert metric(form(PREDICTED), form(LABELS)) == metric(PREDICTED, LABELS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("metric", [auroc, fpr95, fpr95_openood, aupr_known, aupr_foreign])
def test_scores(metric: Any, form: Any) -> None:
    assert metric(form(SCORES), form(FOREIGN)) == pytest.approx(metric(SCORES, FOREIGN), abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_all_others(form: Any) -> None:
    ours = expected_calibration_error(form(PROBABILITIES), form(LABELS))
    assert ours == pytest.approx(expected_calibration_error(PROBABILITIES, LABELS))
    assert torch.equal(roc_points(form(SCORES), form(FOREIGN))[1], roc_points(SCORES, FOREIGN)[1])
    found, expected = (
        selection_quality(PARTITION, *pair) for pair in ((form(PREDICTED), form(LABELS)), (PREDICTED, LABELS))
    )
    assert found == pytest.approx(expected, nan_ok=True)
    verdicts = [Verdict.CLEAN] * 6
    quality = verdict_quality(verdicts, form(PREDICTED), form(LABELS))
    assert quality == pytest.approx(verdict_quality(verdicts, PREDICTED, LABELS), nan_ok=True)
    prediction = Prediction(PROBABILITIES, SCORES, PROBABILITIES, PROBABILITIES)
    assert evaluate_predictions(prediction, form(LABELS)) == evaluate_predictions(prediction, LABELS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accuracy(["cat", "dog"], [0, 1]), "predicted must be a tensor or a NumPy array of numbers, not <U3"),
        (lambda: accuracy(PROBABILITIES, LABELS), "predicted must be whole numbers"),
        (lambda: accuracy(PREDICTED[:3], LABELS), "equally long"),
        (lambda: accuracy(PREDICTED[None], LABELS[None]), "equally long"),
        (lambda: balanced_accuracy([[0, 1], [0]], [0, 1]), "predicted must be an array of numbers"),
        (lambda: auroc(SCORES[:, None], FOREIGN), "equally long"),
        (lambda: auroc(SCORES, LABELS), "bool mask"),
        (lambda: fpr95(SCORES.numpy(), FOREIGN.numpy()[:2]), "equally long"),
        (lambda: expected_calibration_error(PROBABILITIES, LABELS, bins=0), "at least one bin"),
        (lambda: expected_calibration_error(PROBABILITIES[:, 0], LABELS), "probabilities"),
        (lambda: selection_quality(PARTITION, LABELS[:2], LABELS), "equally long"),
        (lambda: verdict_quality([Verdict.CLEAN], LABELS, LABELS), "1 verdicts but 6 labels"),
        (lambda: verdict_quality([Verdict.CLEAN] * 6, LABELS, LABELS[:3]), "equally long"),
        (
            lambda: evaluate_predictions(Prediction(PROBABILITIES, SCORES, SCORES, SCORES), LABELS[:2]),
            r"6 images but labels \(2,\)",
        ),
    ],
)
def test_wrong_shapes_and_kinds_are_said(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_tensors_lose_their_gradient_and_empty_lists_are_whole_numbers() -> None:
    assert not as_tensor(torch.ones(2, requires_grad=True), "x").requires_grad
    assert as_classes([], "labels").shape == (0,)
    assert np.isnan(accuracy([], []))
