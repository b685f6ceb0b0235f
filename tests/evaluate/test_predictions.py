"""All metrics of one evaluation, by hand."""

from __future__ import annotations

import pytest
import torch

from lond.evaluate.predictions import RANKINGS, evaluate_predictions
from lond.types import FOREIGN, UNLABELLED, Prediction


def said(classes: list[int], scores: list[float]) -> Prediction:
    probabilities = torch.eye(3)[classes]
    return Prediction(probabilities, torch.tensor(scores), torch.zeros(len(classes), 1), probabilities)


def test_known_images_count_for_accuracy_and_all_labelled_ones_for_detection() -> None:
    """Three of four known images are right, both of class 1; one of the two foreign images scores too low."""
    labels = torch.tensor([0, 0, 1, 1, FOREIGN, FOREIGN, UNLABELLED])
    found = evaluate_predictions(said([0, 2, 1, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.9, 0.15, 0.99]), labels)
    assert found["accuracy"] == found["balanced_accuracy"] == 0.75
    # Pairs of a known and a foreign image in the right order: 4 + 1 of 8.
    assert found["auroc"] == pytest.approx(5 / 8)
    assert set(found) == {"accuracy", "balanced_accuracy", *RANKINGS}


def test_classes_of_few_images_weigh_as_much_as_others() -> None:
    found = evaluate_predictions(said([0, 0, 0, 0], [0.1] * 4), torch.tensor([0, 0, 0, 1]))
    assert found == {"accuracy": 0.75, "balanced_accuracy": 0.5}


@pytest.mark.parametrize("label", [FOREIGN, UNLABELLED])
def test_without_known_images_there_is_nothing_to_say(label: int) -> None:
    assert evaluate_predictions(said([0, 1], [0.1, 0.2]), torch.tensor([label, label])) == {}


def test_a_perfect_detector() -> None:
    found = evaluate_predictions(said([0, 1, 2], [0.1, 0.2, 0.9]), torch.tensor([0, 1, FOREIGN]))
    assert (found["auroc"], found["fpr95"], found["aupr_known"], found["aupr_foreign"]) == (1, 0, 1, 1)


def test_images_of_the_first_class_alone_have_an_accuracy() -> None:
    assert evaluate_predictions(said([0, 1], [0.1, 0.2]), torch.tensor([0, 0])) == {
        "accuracy": 0.5,
        "balanced_accuracy": 0.5,
    }
