"""Tables with one row per image: predictions for new images, verdicts on the training samples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from lond.data.squares import unreadable
from lond.errors import DataError
from lond.identify import judge
from lond.io.csv_files import read_rows, write_rows
from lond.types import Partition, Prediction, Samples, Verdict

if TYPE_CHECKING:
    from lond.runs.trained import LoadedRun

VerdictColumns = dict[str, list[str]]
"""Column name -> one text per row."""

NO_SUGGESTION = (Verdict.FOREIGN, Verdict.UNREADABLE)
"""Verdicts on images that no known class fits."""

LEARNED_AS = "learned_as"
"""Column of what a method last took a training sample for; tables of older versions call it ``partition``."""

LEARNED_WORDS = {"clean": "clean", "closed": str(Verdict.MISLABELLED), "open": str(Verdict.FOREIGN)}
"""Part of a partition -> its name in the table."""

NUMBERS = ("probability", "foreign_score", "threshold", "p_value", "weight", "neighbour_margin", "negative_margin")
"""Columns of numbers; the others hold text."""


@dataclass(frozen=True)
class PredictionTable:
    """Table of one row per image, in the order of the source; images left out beforehand come last.

    Examples:
        >>> PredictionTable(("id", "label"), [{"id": "1.jpg", "label": "cat"}]).columns
        ('id', 'label')
    """

    columns: tuple[str, ...]
    rows: list[dict[str, str]]

    def write(self, path: Path) -> None:
        """Write the table as CSV, atomically."""
        write_rows(path, self.columns, [list(row.values()) for row in self.rows], NUMBERS)


def is_predictions(path: Path) -> bool:
    """Tell whether a file is a table of predictions, also one of an older version, or empty."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = file.readline().rstrip("\r\n")
    return not header or {"id", "class", "foreign_score", "verdict"} <= set(header.split(","))


def prediction_rows(
    run: LoadedRun, samples: Samples, prediction: Prediction, threshold: float | None = None
) -> PredictionTable:
    """Return class, probability, foreign score, p-value and verdict (known, foreign or unreadable) of every image.

    The foreign score has the scale of the run's detector and is no probability; an image whose score exceeds
    ``threshold``, the same for all images, is foreign. The p-value is the share of known calibration images that score
    at least as high; it is empty if the run has no calibration.

    Raises:
        DataError: neither the run nor the caller has a threshold.

    Examples:
        >>> import numpy as np
        >>> from lond import preset, train_run
        >>> from lond.config import with_overrides
        >>> short = {"train.epochs": "1", "train.max_steps": "2", "net.width": "0.125"}
        >>> _ = train_run(with_overrides(preset("digits", "standard"), short), "run", show_progress=False)
        >>> from lond import load_run
        >>> run = load_run("run")
        >>> samples = run.read(np.zeros((2, 16, 16), dtype=np.uint8))
        >>> prediction_rows(run, samples, run.predict(samples)).columns[:3]
        ('id', 'class', 'probability')
    """
    calibration, threshold = run.calibration, run.threshold if threshold is None else threshold
    if threshold is None and not run.finished:
        raise DataError("the run is not finished: start its lond train command again, or choose a --threshold")
    if threshold is None:
        raise DataError("the run has no stored threshold (too few trusted samples); choose one with --threshold")
    names = ("id", "class", "probability", "foreign_score", "threshold", "p_value", "verdict", "reason")
    classes = prediction.probabilities.argmax(dim=1)
    tempered = prediction.probabilities if calibration is None else calibration.probabilities(prediction)
    columns = {
        "id": list(samples.ids),
        "class": _named(classes, run.shape.class_names),
        "probability": _numbers(tempered.gather(1, classes[:, None]).squeeze(1)),
        "foreign_score": _numbers(prediction.scores),
        "threshold": [f"{threshold:.6g}"] * len(samples),
        "p_value": [""] * len(samples) if calibration is None else _numbers(calibration.p_values(prediction.scores)),
        "verdict": [str(Verdict.FOREIGN) if score > threshold else "known" for score in prediction.scores.tolist()],
        "reason": [""] * len(samples),
    }
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    empty = dict.fromkeys(names, "") | {"verdict": str(Verdict.UNREADABLE)}
    for index, reason in unreadable(samples.pixels).items():
        rows[index] = empty | {"id": samples.ids[index], "reason": reason}
    rows += [empty | {"id": problem.id, "reason": problem.reason} for problem in samples.problems]
    return PredictionTable(names, rows)


def judge_samples(samples: Samples, prediction: Prediction, threshold: float | None) -> list[Verdict]:
    """Return the verdict on every training sample; confirmed labels are clean, and no threshold means none foreign."""
    predicted = prediction.probabilities.argmax(dim=1)
    verdicts = judge(samples.labels, predicted, prediction.scores, math.inf if threshold is None else threshold)
    for index in _confirmed(samples):
        verdicts[index] = Verdict.CLEAN
    for index in unreadable(samples.pixels):
        verdicts[index] = Verdict.UNREADABLE
    return verdicts


def _confirmed(samples: Samples) -> list[int]:
    """Return the places of the labels that a person gave or confirmed."""
    if samples.confirmed is None:
        return []
    places: list[int] = (samples.confirmed & (samples.labels >= 0)).nonzero().squeeze(1).tolist()
    return places


def verdict_columns(
    samples: Samples,
    prediction: Prediction,
    verdicts: list[Verdict],
    partition: Partition | None = None,
    kept: Tensor | None = None,
) -> VerdictColumns:
    """Return the table of samples: label, verdict, suggested label (none for foreign images) and scores.

    The last training partition with its weights and margins, and the true labels, stand beside them where known.
    ``kept`` ``(M,)`` are the samples that the partition speaks of, if not all; the others were held out.
    """
    names, best = samples.class_names, prediction.probabilities.max(dim=1)
    suggestions = _named(best.indices, names)
    for index in _confirmed(samples):
        suggestions[index] = names[int(samples.labels[index])]
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
        trained_on = range(len(samples)) if kept is None else kept.tolist()
        columns |= {
            LEARNED_AS: _spread(_learned_as(partition.names()), trained_on, len(samples), "held out"),
            "weight": _spread(_numbers(partition.weights), trained_on, len(samples)),
        }
        for name in ("neighbour_margin", "negative_margin"):
            margin = getattr(partition, name)
            if margin is not None:
                columns[name] = _spread(_numbers(margin), trained_on, len(samples))
    if samples.true_labels is not None:
        columns["true_label"] = _named(samples.true_labels, names)
    return columns


def write_verdicts(path: Path, columns: VerdictColumns) -> None:
    """Write a table of samples as CSV, atomically."""
    write_rows(path, list(columns), zip(*columns.values(), strict=True), NUMBERS)


def read_verdicts(path: Path) -> VerdictColumns:
    """Read what ``write_verdicts`` wrote, or an older version of it.

    Raises:
        DataError: it is no such table.
    """
    rows = list(read_rows(path, ("id", "verdict"), "a run's table of verdicts"))
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    if "partition" not in columns:
        return columns
    return {
        LEARNED_AS if name == "partition" else name: _learned_as(values) if name == "partition" else values
        for name, values in columns.items()
    }


def _learned_as(names: list[str]) -> list[str]:
    """Return the parts of a partition in the words of the table."""
    return [LEARNED_WORDS.get(name, name) for name in names]


def _spread(texts: list[str], places: Iterable[int], length: int, otherwise: str = "") -> list[str]:
    """Put texts at their places in a column."""
    column = [otherwise] * length
    for place, text in zip(places, texts, strict=True):
        column[place] = text
    return column


def _named(labels: Tensor, names: tuple[str, ...]) -> list[str]:
    return [names[label] if label >= 0 else "" for label in labels.tolist()]


def _numbers(values: Tensor) -> list[str]:
    return [f"{value:.6g}" for value in values.tolist()]
