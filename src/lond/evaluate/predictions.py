"""All metrics of an evaluation, from predictions and true labels."""

from __future__ import annotations

from lond.evaluate.accuracy import accuracy, balanced_accuracy
from lond.evaluate.arrays import Values, as_classes
from lond.evaluate.ranking import aupr_foreign, aupr_known, auroc, fpr95, fpr95_openood
from lond.types import FOREIGN, UNLABELLED, Prediction

RANKINGS = {
    "auroc": auroc,
    "fpr95": fpr95,
    "fpr95_openood": fpr95_openood,
    "aupr_known": aupr_known,
    "aupr_foreign": aupr_foreign,
}
"""Figures that need both known and foreign images."""


def evaluate_predictions(prediction: Prediction, labels: Values) -> dict[str, float]:
    """Return the accuracy on known images and, if there are foreign images, the metrics of their detection.

    Args:
        prediction: what a method says about N images.
        labels: ``(N,)`` true labels, ``FOREIGN`` for images of no known class; unlabelled images do not count.

    Raises:
        ValueError: there is not one label per image, or a label is no whole number.

    Examples:
        >>> import torch
        >>> probabilities = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
        >>> scores = torch.tensor([0.1, 0.2, 0.9])
        >>> prediction = Prediction(probabilities, scores, torch.zeros(3, 1), probabilities.log())
        >>> found = evaluate_predictions(prediction, [0, 1, -1])
        >>> found["accuracy"], found["auroc"]
        (1.0, 1.0)
    """
    labels = as_classes(labels, "labels")
    if labels.shape != prediction.scores.shape:
        raise ValueError(f"there are {len(prediction.scores)} images but labels {(*labels.shape,)}")
    predicted = prediction.probabilities.argmax(dim=1)
    figures = {}
    if (labels >= 0).any():
        figures = {"accuracy": accuracy(predicted, labels), "balanced_accuracy": balanced_accuracy(predicted, labels)}
    judged = labels != UNLABELLED
    foreign, scores = labels[judged] == FOREIGN, prediction.scores[judged]
    if foreign.any() and not foreign.all():
        figures |= {name: figure(scores, foreign) for name, figure in RANKINGS.items()}
    return figures
