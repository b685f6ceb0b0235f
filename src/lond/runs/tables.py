"""What a run says, image by image, as rows for people: predictions of new images, verdicts on the training samples."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from lond.data.squares import SquarePixels
from lond.errors import DataError
from lond.identify import judge
from lond.types import Partition, Pixels, Prediction, Samples, Verdict

if TYPE_CHECKING:
    from lond.runs.trained import LoadedRun

Columns = dict[str, list[str]]
"""Column name -> one text a row."""

NO_SUGGESTION = (Verdict.FOREIGN, Verdict.UNREADABLE)
"""Verdicts on images that no known class fits."""


@dataclass(frozen=True)
class PredictionTable:
    """One row an image, in the order of the source; images that were left out beforehand come last."""

    columns: tuple[str, ...]
    rows: list[dict[str, str]]


def unreadable(pixels: Pixels) -> dict[int, str]:
    """Return index -> reason of the images that could not be decoded so far (each was replaced by mid-grey)."""
    if not isinstance(pixels, SquarePixels) or not pixels.problems:
        return {}
    reasons = {problem.id: problem.reason for problem in pixels.problems}
    return {index: reasons[name] for index in range(len(pixels)) if (name := pixels.name(index)) in reasons}


def prediction_rows(
    run: LoadedRun, samples: Samples, prediction: Prediction, threshold: float | None = None
) -> PredictionTable:
    """Return class, probability, foreign score and verdict (known, foreign or unreadable) of every image.

    Raises:
        DataError: neither the run nor the caller has a threshold.
    """
    threshold = run.threshold if threshold is None else threshold
    if threshold is None:
        raise DataError("the run has no stored threshold (too few trusted samples); choose one with --threshold")
    columns = ("id", "class", "probability", "foreign_score", "verdict", "reason")
    empty, faults = dict.fromkeys(columns, ""), unreadable(samples.pixels)
    best = prediction.probabilities.max(dim=1)
    said = zip(samples.ids, best.indices.tolist(), best.values.tolist(), prediction.scores.tolist(), strict=True)
    rows = []
    for index, (name, label, probability, score) in enumerate(said):
        if index in faults:
            rows.append(empty | {"id": name, "verdict": str(Verdict.UNREADABLE), "reason": faults[index]})
            continue
        numbers = {"probability": f"{probability:.6g}", "foreign_score": f"{score:.6g}"}
        verdict = str(Verdict.FOREIGN) if score > threshold else "known"
        rows.append(empty | numbers | {"id": name, "class": run.shape.class_names[label], "verdict": verdict})
    for problem in samples.problems:
        rows.append(empty | {"id": problem.id, "verdict": str(Verdict.UNREADABLE), "reason": problem.reason})
    return PredictionTable(columns, rows)


def judge_samples(samples: Samples, prediction: Prediction, threshold: float | None) -> list[Verdict]:
    """Return the verdict on every training sample; without a threshold none is foreign."""
    predicted = prediction.probabilities.argmax(dim=1)
    verdicts = judge(samples.labels, predicted, prediction.scores, math.inf if threshold is None else threshold)
    for index in unreadable(samples.pixels):
        verdicts[index] = Verdict.UNREADABLE
    return verdicts


def verdict_columns(
    samples: Samples, prediction: Prediction, verdicts: list[Verdict], partition: Partition | None = None
) -> Columns:
    """Return the table of training samples: label, verdict, suggested label (none for foreign images) and scores.

    The last training partition with its weights and margins, and the true labels, stand beside them where known.
    """
    names, best = samples.class_names, prediction.probabilities.max(dim=1)
    suggestions = _named(best.indices, names)
    columns = {
        "id": list(samples.ids),
        "label": _named(samples.labels, names),
        "verdict": [str(verdict) for verdict in verdicts],
        "suggested_label": ["" if v in NO_SUGGESTION else s for v, s in zip(verdicts, suggestions, strict=True)],
        "probability": _numbers(best.values),
        "foreign_score": _numbers(prediction.scores),
    }
    if partition is not None:
        partition = partition.to("cpu")
        columns |= {
            "partition": partition.names(),
            "weight": _numbers(partition.weights),
            "neighbour_margin": _numbers(partition.neighbour_margin),
            "negative_margin": _numbers(partition.negative_margin),
        }
    if samples.true_labels is not None:
        columns["true_label"] = _named(samples.true_labels, names)
    return columns


def write_columns(path: Path, columns: Columns) -> None:
    """Write a CSV file, atomically."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    temporary.replace(path)


def read_columns(path: Path) -> Columns:
    """Read what ``write_columns`` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return {name: [row[at] for row in rows] for at, name in enumerate(header)}


def _named(labels: Tensor, names: tuple[str, ...]) -> list[str]:
    return [names[label] if label >= 0 else "" for label in labels.tolist()]


def _numbers(values: Tensor) -> list[str]:
    return [f"{value:.6g}" for value in values.tolist()]
