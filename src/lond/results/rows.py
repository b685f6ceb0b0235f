"""Records as flat rows, for data frames: ``pandas.DataFrame(to_rows(records))``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lond.results.groups import field_of
from lond.results.records import Record


def to_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return one row per run: its description, and every value under the name that ``Record.value`` takes.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> to_rows([record])[0]["accuracy"]
        0.875
    """
    return [_head(record) | dict(record.values()) for record in records]


def detector_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return one row per detector of a run.

    Examples:
        >>> from dataclasses import replace
        >>> from lond.results import DetectorRecord, Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> detectors = (DetectorRecord("knn", "clean", {"auroc": 0.75}),)
        >>> [row["auroc"] for row in detector_rows([replace(record, detectors=detectors)])]
        [0.75]
    """
    return [
        _head(record)
        | {"detector": entry.name, "fitted_on": entry.fitted_on, **entry.figures, "problem": entry.problem}
        for record in records
        for entry in record.detectors
    ]


def curve_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return one row per epoch of a run.

    Examples:
        >>> from dataclasses import replace
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> curve_rows([replace(record, epochs=2, curves={"loss": (0.5, 0.25)})])[1]["loss"]
        0.25
    """
    return [
        _head(record) | {"epoch": epoch} | {name: curve[epoch] for name, curve in record.curves.items()}
        for record in records
        for epoch in range(record.epochs)
    ]


def _head(record: Record) -> dict[str, Any]:
    return {
        "name": record.name,
        "method": record.method,
        "data": record.data,
        "noise": record.noise,
        "scale": record.scale,
        "preset": record.preset,
        "changes": field_of(record, "changes"),
        "variant": record.variant,
        "seed": record.seeds.training,
        "split_seed": record.seeds.split,
        "noise_seed": record.seeds.noise,
        "epochs": record.epochs,
        "mean_over_last": record.mean_over_last,
        "threads": record.machine.threads,
        "device": record.machine.device,
        "finished": record.finished,
    }
