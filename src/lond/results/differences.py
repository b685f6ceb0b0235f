"""What differs between two records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lond.io.plain_values import flat
from lond.results.records import Record

DifferenceKind = Literal["setting", "fact", "metric"]

TAGS = ("preset", "data", "noise", "scale")
"""What whoever stored a run said about it."""


@dataclass(frozen=True)
class Difference:
    """One entry that differs; None where a record has none.

    Examples:
        >>> Difference("setting", "train.epochs", 10, 20).key
        'train.epochs'
    """

    kind: DifferenceKind
    key: str
    first: Any
    second: Any

    def __str__(self) -> str:
        """Return "key: first -> second"."""
        return f"{self.key}: {short(self.first)} -> {short(self.second)}"


def differences(first: Record, second: Record) -> list[Difference]:
    """Return all differences in settings, facts (tags, data, versions, machine) and metrics; ignore times.

    Examples:
        >>> from dataclasses import replace
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> [one.key for one in differences(record, replace(record, noise="sym20"))]
        ['noise']
    """
    return [
        *_compared("setting", flat(first.config), flat(second.config)),
        *_compared("fact", _facts(first), _facts(second)),
        *_compared("metric", _metrics(first), _metrics(second)),
    ]


def short(value: object) -> str:
    """Return a value as a reader wants it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None or value == "" else str(value)


def _compared(kind: DifferenceKind, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Difference]:
    for key in [*first, *(key for key in second if key not in first)]:
        if first.get(key) != second.get(key):
            yield Difference(kind, key, first.get(key), second.get(key))


def _facts(record: Record) -> dict[str, Any]:
    facts: dict[str, Any] = {name: getattr(record, name) for name in TAGS}
    facts |= flat({"versions": record.versions, "machine": vars(record.machine)})
    return facts | flat({"data": {name: vars(part) for name, part in record.fingerprint.items()}})


def _metrics(record: Record) -> dict[str, Any]:
    timeless = {name: value for name, value in record.values() if not name.startswith("seconds")}
    lengths = {"epochs": record.epochs, "mean_over_last": record.mean_over_last}
    return lengths | timeless | {f"curve {name}": curve for name, curve in record.curves.items()}
