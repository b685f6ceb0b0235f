"""Every figure of the bench: what a contender said against the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from benchmarks.noise_bench.cells import Cell
from benchmarks.noise_bench.opinion import Flags, Numbers, Opinion, Rate
from sklearn.metrics import average_precision_score, roc_auc_score

from lond.crossfit.features import Preparation, learn_preparation
from lond.crossfit.heads import fit_softmax

FEWEST = 5
"""Wrong labels or foreign images below which nothing is ranked."""

BINS = {"50-70": (0.5, 0.7), "70-90": (0.7, 0.9), "90-100": (0.9, 1.0)}
"""Confidence classes: above the first number, up to the second."""

Columns = dict[str, Any]


def columns(cell: Cell, opinion: Opinion) -> Columns:
    """Return all figures of an opinion on a cell; what it says nothing about is left out."""
    rows = cell.scored
    foreign, wrong = (cell.true < 0)[rows], ((cell.true >= 0) & (cell.true != cell.given))[rows]
    found = truth_columns(wrong, foreign)
    found |= wrong_columns(_at(opinion, rows), wrong, foreign) | foreign_columns(_at(opinion, rows), foreign)
    found |= confidence_columns(_at(opinion, rows), cell.true[rows])
    if rows.all():
        found |= rate_columns(opinion.rates, float(wrong.mean()), float(foreign.mean()))
        found |= columns_on_test(cell, opinion) | corrected_columns(cell, opinion)
    return found


def _at(opinion: Opinion, rows: Flags) -> Opinion:
    """Return what is said of some images."""
    names = (
        "wrong_score",
        "wrong",
        "known_score",
        "known_doubt",
        "foreign_score",
        "foreign",
        "suggested",
        "confidence",
    )
    said = {name: getattr(opinion, name) for name in names}
    return Opinion(**{name: value if value is None else value[rows] for name, value in said.items()})


def truth_columns(wrong: Flags, foreign: Flags) -> Columns:
    """Return how many images are scored and what is true of them."""
    return {"scored": len(wrong), "wrong": float(wrong.mean()), "foreign": float(foreign.mean())}


def wrong_columns(said: Opinion, wrong: Flags, foreign: Flags) -> Columns:
    """Return how well wrong labels are found: among all images, and among those of known classes."""
    found: Columns = {}
    doubted = said.known_doubt if said.known_doubt is not None else said.wrong
    if said.wrong is not None and doubted is not None:
        found |= {"flagged": float(said.wrong.mean()), "doubted": float(doubted.mean())}
    if said.wrong_score is None or wrong.sum() < FEWEST:
        return found
    known_score = said.known_score if said.known_score is not None else said.wrong_score
    found["wrong_auroc"] = float(roc_auc_score(wrong, said.wrong_score))
    found["wrong_auroc_known"] = float(roc_auc_score(wrong[~foreign], known_score[~foreign]))
    if said.wrong is not None and doubted is not None:
        found |= {f"wrong_{name}": value for name, value in flag_quality(said.wrong, wrong).items()}
        found["wrong_f1_known"] = flag_quality(doubted[~foreign], wrong[~foreign])["f1"]
    return found


def foreign_columns(said: Opinion, foreign: Flags) -> Columns:
    """Return how well foreign images are found."""
    found: Columns = {}
    if said.foreign is not None:
        found["called_foreign"] = int(said.foreign.sum())
        found |= {f"foreign_{name}": value for name, value in flag_quality(said.foreign, foreign).items()}
    if said.foreign_score is not None and foreign.sum() >= FEWEST:
        found["foreign_auroc"] = float(roc_auc_score(foreign, said.foreign_score))
        found["foreign_ap"] = float(average_precision_score(foreign, said.foreign_score))
    return found


def flag_quality(said: Flags, really: Flags) -> dict[str, float | None]:
    """Return F1, precision and recall; None where there is nothing to divide by."""
    hits = float((said & really).sum())
    return {
        "f1": 2 * hits / (said.sum() + really.sum()) if really.any() else None,
        "precision": hits / said.sum() if said.any() else None,
        "recall": hits / really.sum() if really.any() else None,
    }


def rate_columns(rates: dict[str, Rate], wrong: float, foreign: float) -> Columns:
    """Return every estimated rate with its ends, and whether the interval holds the truth."""
    truths = {"wrong": wrong, "foreign": foreign, "either": wrong + foreign}
    found: Columns = {}
    for name, (estimate, low, high) in rates.items():
        found[f"rate_{name}"] = [estimate, low, high]
        found[f"rate_{name}_holds"] = bool(low <= truths[name] <= high)
    return found


def confidence_columns(said: Opinion, true: Numbers) -> Columns:
    """Return for each class of confidence: number of suggestions, share that is right, mean confidence."""
    if said.suggested is None or said.confidence is None:
        return {}
    found: Columns = {}
    for name, (low, high) in BINS.items():
        within = (said.confidence > low) & (said.confidence <= high)
        if within.any():
            right = float((said.suggested == true)[within].mean())
            found[f"confidence_{name}"] = [int(within.sum()), right, float(said.confidence[within].mean())]
    return found


def columns_on_test(cell: Cell, opinion: Opinion) -> Columns:
    """Return accuracy on known test images, AUROC against foreign ones, and the share of false alarms."""
    if opinion.tested is None:
        return {}
    foreign = cell.test_true < 0
    hits = opinion.tested.predicted == cell.test_true
    found: Columns = {
        "test_accuracy": float(hits[~foreign].mean()),
        "false_alarms": float(opinion.tested.foreign[~foreign].mean()),
    }
    if foreign.any():
        found["test_auroc"] = float(roc_auc_score(foreign, opinion.tested.foreign_score))
        found["test_caught"] = float(opinion.tested.foreign[foreign].mean())
    return found


def corrected_columns(cell: Cell, opinion: Opinion) -> Columns:
    """Return the accuracy of a linear probe on given, true and corrected labels, on known test images."""
    if opinion.labels is None or opinion.kept is None:
        return {}
    prepare = learn_preparation(torch.from_numpy(cell.features))
    known = cell.true >= 0
    every = np.ones(len(known), dtype=bool)
    found = {
        "probe_given": _probe(cell, prepare, cell.given, every),
        "probe_true": _probe(cell, prepare, cell.true, known),
        "probe_corrected": _probe(cell, prepare, opinion.labels, opinion.kept),
    }
    relabelled = (opinion.labels != cell.given) & opinion.kept
    return found | {"left_out": float((~opinion.kept).mean()), "relabelled": float(relabelled.mean())}


def _probe(cell: Cell, prepare: Preparation, labels: Numbers, rows: Flags) -> float:
    """Return the accuracy of a softmax regression trained on some rows."""
    targets = torch.eye(cell.classes)[torch.from_numpy(labels[rows])]
    features = prepare(torch.from_numpy(cell.features[rows]))
    head = fit_softmax(features, targets, torch.zeros(len(features), dtype=torch.long))
    tested = cell.test_true >= 0
    told = head.last(prepare(torch.from_numpy(cell.test_features[tested]))).argmax(dim=1).numpy()
    return float((told == cell.test_true[tested]).mean())
