"""Metrics: accuracy, ranking of foreign images, and quality of a partition against the truth."""

from lond.evaluate.accuracy import accuracy, balanced_accuracy
from lond.evaluate.calibration import expected_calibration_error
from lond.evaluate.predictions import evaluate_predictions
from lond.evaluate.ranking import aupr_foreign, aupr_known, auroc, fpr95, fpr95_openood, roc_points
from lond.evaluate.selection import selection_quality
from lond.evaluate.verdicts import verdict_quality

__all__ = [
    "accuracy",
    "aupr_foreign",
    "aupr_known",
    "auroc",
    "balanced_accuracy",
    "evaluate_predictions",
    "expected_calibration_error",
    "fpr95",
    "fpr95_openood",
    "roc_points",
    "selection_quality",
    "verdict_quality",
]
