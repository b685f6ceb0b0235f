"""Confidences and the threshold of an audit."""

from __future__ import annotations

import pytest
import torch

from lond.audit.judge.out_of_fold import OUT_OF_FOLD, calibrate_out_of_fold, known_scores, sharpened, true_classes
from lond.runs.calibration import tempered
from lond.types import UNLABELLED, Prediction


def test_the_threshold_comes_from_images_the_judges_agree_with() -> None:
    probabilities = torch.eye(2).repeat(50, 1)
    labels = torch.arange(100) % 2
    labels[:20] = 1 - labels[:20]
    scores = torch.arange(100.0)
    prediction = Prediction(probabilities, scores, torch.zeros(100, 1), probabilities)
    calibration = calibrate_out_of_fold(labels, prediction, 0.05)
    assert calibration is not None
    assert calibration.source == OUT_OF_FOLD
    assert torch.equal(calibration.known_scores, scores[20:])
    assert calibrate_out_of_fold(1 - torch.arange(100) % 2, prediction, 0.05) is None


def told(confidence: torch.Tensor, scores: torch.Tensor) -> Prediction:
    probabilities = torch.stack([confidence, 1 - confidence], dim=1)
    return Prediction(probabilities, scores, torch.zeros(len(scores), 1), probabilities)


def test_hard_images_that_agree_stand_for_those_that_do_not() -> None:
    random = torch.Generator().manual_seed(0)
    confidence = 0.5 + 0.5 * torch.rand(20_000, generator=random)
    scores = 1 - confidence + 0.1 * torch.randn(20_000, generator=random)
    labels = (torch.rand(20_000, generator=random) > confidence).long()
    found = known_scores(labels, told(confidence, scores))
    assert len(found) == int((labels == 0).sum())
    for share in (0.1, 0.5, 0.9):
        assert float(found.quantile(share)) == pytest.approx(float(scores.quantile(share)), abs=0.01)
        assert float(scores[labels == 0].quantile(share)) < float(scores.quantile(share)) - 0.015


def test_equally_sure_images_all_count_once() -> None:
    labels = torch.tensor([0, 0, 1, 0])
    found = known_scores(labels, told(torch.full((4,), 0.8), torch.tensor([3.0, 1.0, 9.0, 2.0])))
    assert found.tolist() == [1.0, 2.0, 3.0]
    assert known_scores(torch.ones(4).long(), told(torch.full((4,), 0.8), torch.arange(4.0))).tolist() == []


def test_confidences_are_fitted_to_images_that_do_not_look_foreign() -> None:
    random = torch.Generator().manual_seed(1)
    true = torch.softmax(3 * torch.randn(6000, 4, generator=random), dim=1)
    labels = torch.multinomial(true, 1, generator=random).squeeze(1)
    foreign = torch.arange(6000) < 2000
    labels[foreign] = torch.randint(0, 4, (2000,), generator=random)
    scores = torch.rand(6000, generator=random) + 1.0 * foreign
    flat = tempered(true, 2.0)
    found = sharpened(flat, labels, scores)
    assert float((found - true).abs().mean()) < 0.03
    assert sharpened(true[:3], torch.full((3,), UNLABELLED), scores[:3]) is not None


@pytest.mark.parametrize(("share", "most"), [(0.0, 0.04), (0.3, 0.5)])
def test_no_more_images_are_called_foreign_than_there_may_be(share: float, most: float) -> None:
    random = torch.Generator().manual_seed(2)
    count, classes = 4000, 10
    probabilities = torch.softmax(5 * torch.randn(count, classes, generator=random), dim=1)
    labels = torch.multinomial(probabilities, 1, generator=random).squeeze(1)
    foreign = torch.rand(count, generator=random) < share
    labels[foreign] = torch.randint(0, classes, (int(foreign.sum()),), generator=random)
    scores = torch.rand(count, generator=random) + 0.8 * foreign
    prediction = Prediction(probabilities, scores, torch.zeros(count, 1), probabilities)
    calibration = calibrate_out_of_fold(labels, prediction, 0.1)
    assert calibration is not None
    called = float((scores > calibration.threshold).double().mean())
    alarms = float((scores[~foreign] > calibration.threshold).double().mean())
    assert called <= most
    # Foreign images that agree by chance are among the known scores, which makes the threshold careful.
    assert alarms <= calibration.false_alarm_rate + 0.02
    assert (calibration.false_alarm_rate < 0.05) == (share == 0)


def test_true_classes_are_fitted_without_what_looks_foreign() -> None:
    random = torch.Generator().manual_seed(3)
    count, classes = 6000, 6
    probabilities = torch.softmax(3 * torch.randn(count, classes, generator=random), dim=1)
    true = torch.multinomial(probabilities, 1, generator=random).squeeze(1)
    labels = torch.where(torch.rand(count, generator=random) < 0.2, (true + 1) % classes, true)
    foreign = torch.rand(count, generator=random) < 0.2
    labels[foreign] = torch.randint(0, classes, (int(foreign.sum()),), generator=random)
    scores = torch.rand(count, generator=random) + 1.0 * foreign
    prediction = Prediction(probabilities, scores, torch.zeros(count, 1), probabilities)
    calibration = calibrate_out_of_fold(labels, prediction, 0.1)
    found = true_classes(labels, prediction, calibration)
    right = (found.argmax(dim=1) == true)[~foreign].float().mean()
    assert right > (probabilities.argmax(dim=1) == true)[~foreign].float().mean() + 0.05
    assert true_classes(labels, prediction, None).shape == (count, classes)


def test_few_images_cannot_make_certain() -> None:
    labels = torch.arange(40) % 4
    certain = torch.nn.functional.one_hot(labels, 4).float()
    prediction = Prediction(certain, torch.linspace(0, 1, 40), torch.zeros(40, 1), certain)
    found = true_classes(labels, prediction, None)
    assert found.amax(dim=1).tolist() == pytest.approx([(40 + 1 / 4) / 41] * 40)
    assert found.sum(dim=1).tolist() == pytest.approx([1] * 40)
