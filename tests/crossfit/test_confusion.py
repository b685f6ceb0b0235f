"""The confusion of labels by hand, unmixing against a slow loop, and rates that are kept."""

from __future__ import annotations

import pytest
import torch

from lond.crossfit.confusion import UNMIXING_STEPS, confusion_of, offset_for, posterior, unmixed
from lond.types import UNLABELLED


def sure_of(predicted: torch.Tensor, classes: int, sureness: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities with so much for the predicted class, the rest even."""
    rest = (1 - sureness) / (classes - 1)
    chances = rest[:, None].repeat(1, classes)
    chances[torch.arange(len(predicted)), predicted] = sureness
    return chances.log()


def test_the_surest_fifth_of_a_class_tells_its_confusion() -> None:
    predicted = torch.arange(100) % 2
    sureness = torch.linspace(0.6, 0.99, 100)
    labels = predicted.clone()
    # Of the ten surest images of class 0, three carry the other label; what the others carry does not count.
    surest = (predicted == 0).nonzero().squeeze(1)[-10:]
    labels[surest[:3]] = 1
    labels[:40] = 1 - predicted[:40]
    confusion = confusion_of(sure_of(predicted, 2, sureness), labels)
    mix = (torch.bincount(labels).float() + 0.5) / 101
    row = (torch.tensor([7.0, 3.0]) + 5 * mix) / 15
    assert torch.allclose(confusion[0], row)
    assert torch.allclose(confusion[2], mix)
    assert torch.allclose(confusion.sum(dim=1), torch.ones(3))


def test_unlabelled_images_tell_nothing() -> None:
    predicted = torch.arange(60) % 3
    log_chances = sure_of(predicted, 3, torch.full((60,), 0.8))
    labels = predicted.clone()
    labels[:30] = UNLABELLED
    assert torch.equal(confusion_of(log_chances, labels), confusion_of(log_chances[30:], labels[30:]))


def test_a_class_that_is_never_predicted_keeps_its_label() -> None:
    predicted = torch.arange(40) % 2
    log_chances = torch.cat([sure_of(predicted, 2, torch.full((40,), 0.8)), torch.full((40, 1), -20.0)], dim=1)
    confusion = confusion_of(log_chances, predicted)
    assert confusion.isfinite().all()
    assert torch.allclose(confusion.sum(dim=1), torch.ones(4))
    assert confusion[2, 2] > confusion[3, 2]


def test_unmixing_equals_the_loop() -> None:
    random = torch.Generator().manual_seed(0)
    log_chances = torch.randn(4, 3, generator=random).log_softmax(dim=1)
    confusion = torch.rand(4, 3, generator=random)
    confusion /= confusion.sum(dim=1, keepdim=True)
    found = unmixed(log_chances, confusion, 0.1)
    for row, chances in zip(found.tolist(), log_chances.exp().tolist(), strict=True):
        now = [0.3, 0.3, 0.3, 0.1]
        for _ in range(UNMIXING_STEPS):
            explained = [sum(now[k] * float(confusion[k, y]) for k in range(4)) for y in range(3)]
            now = [now[k] * sum(chances[y] / explained[y] * float(confusion[k, y]) for y in range(3)) for k in range(4)]
        assert row == pytest.approx([value / sum(now) for value in now], abs=1e-4)


def test_unmixing_finds_the_class_behind_confused_labels() -> None:
    """Labels of class 0 are 60 % right and 40 % those of class 1; a flat prediction is a foreign image's."""
    confusion = torch.tensor([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6], [1 / 3, 1 / 3, 1 / 3]]).clamp_min(1e-3)
    chances = torch.tensor([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4]]).clamp_min(1e-3)
    assert unmixed(chances.log(), confusion, 0.1).argmax(dim=1).tolist() == [0, 1]


def test_posterior_weighs_the_label_and_keeps_the_rate() -> None:
    random = torch.Generator().manual_seed(1)
    prior = torch.randn(200, 4, generator=random).mul(2).softmax(dim=1)
    labels = torch.randint(-1, 3, (200,), generator=random)
    confusion = torch.rand(4, 3, generator=random) + 0.1
    found = posterior(prior, labels, confusion, 0.3)
    assert torch.allclose(found.sum(dim=1), torch.ones(200), atol=1e-5)
    assert float(found[:, -1].mean()) == pytest.approx(0.3, abs=1e-3)
    for row, given, label in zip(found, prior, labels.tolist(), strict=True):
        joint = given[:3] * (confusion[:3, label] if label >= 0 else 1)
        assert torch.allclose(row[:3] / row[:3].sum(), joint / joint.sum(), atol=1e-5)


def test_a_rate_of_zero_leaves_nothing_foreign() -> None:
    prior = torch.full((10, 3), 1 / 3)
    assert float(posterior(prior, torch.zeros(10, dtype=torch.long), torch.full((3, 2), 0.5), 0.0)[:, -1].max()) < 1e-4


def test_offset_is_the_difference_of_log_odds() -> None:
    odds = torch.full((5,), 1.0)
    assert offset_for(odds, 0.5) == pytest.approx(-1.0, abs=1e-4)
