"""Records that belong together, averaged."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lond.errors import ConfigError
from lond.io.plain_values import flat
from lond.results.records import SEEDS, Record

FIELDS = ("method", "data", "noise", "scale", "preset", "changes", "variant", "seed", "noise_seed", "split_seed")
"""What records can be grouped by."""

PLAIN: tuple[str, ...] = ("method", "data", "noise", "scale")
"""Those that tell runs of different experiments apart."""


@dataclass(frozen=True)
class Summary:
    """A metric over n runs: mean, and sample standard deviation (None for fewer than two).

    Examples:
        >>> Summary(n=3, mean=0.875, deviation=0.25).lacking
        0
    """

    n: int
    mean: float | None
    deviation: float | None
    lacking: int = 0
    """Runs beside the n that have no such value."""


@dataclass(frozen=True)
class Group:
    """Records that agree in the fields they are grouped by.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> one = Group({"method": "sed"}, (record,))
        >>> one.n, one.summary("accuracy").mean
        (1, 0.875)
    """

    key: dict[str, Any]
    records: tuple[Record, ...]

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.records)

    def summary(self, metric: str) -> Summary:
        """Return a metric's mean and deviation over the runs that have it."""
        values = [value for record in self.records if (value := record.value(metric)) is not None]
        return summarise(values, self.n - len(values))

    def mixed(self) -> list[str]:
        """Return the settings, seeds aside, in which the runs of the group differ: a mean over them may mean little."""
        if len({record.variant for record in self.records}) < 2:
            return []
        settings = [flat(record.config) for record in self.records]
        keys = dict.fromkeys(key for one in settings for key in one if key not in SEEDS)
        return [key for key in keys if any(one.get(key) != settings[0].get(key) for one in settings[1:])]

    def apart(self) -> list[str]:
        """Return the fields, seeds aside, by which the runs of the group could be told apart; the plainest that do."""
        differing = [name for name in FIELDS if len({field_of(record, name) for record in self.records}) > 1]
        plain = [name for name in PLAIN if name in differing]
        return plain or [name for name in differing if name in ("changes", "variant")][:1]


def group(records: Iterable[Record], by: str | Sequence[str] = ("method", "data", "noise")) -> list[Group]:
    """Return the groups, ordered by key; a single field may be given as text.

    Raises:
        ConfigError: there is nothing to group by of that name.

    Examples:
        >>> from lond.results import Record, Seeds
        >>> record = Record("a1", "v1", "sed", "digits", "sym40", "mini", Seeds(0), {}, metrics={"accuracy": 0.875})
        >>> [(one.key["method"], one.n) for one in group([record], by="method")]
        [('sed', 1)]
    """
    by = (by,) if isinstance(by, str) else by
    for name in by:
        if name not in FIELDS:
            raise ConfigError(f"runs cannot be grouped by {name!r}; choose from: {', '.join(FIELDS)}")
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        found.setdefault(tuple(field_of(record, name) for name in by), []).append(record)
    return [Group(dict(zip(by, key, strict=True)), tuple(found[key])) for key in sorted(found)]


def field_of(record: Record, name: str) -> str:
    """Return one of ``FIELDS`` as text."""
    if name == "changes":
        return ", ".join(f"{key}={value}" for key, value in record.changes.items())
    seeds = {"seed": record.seeds.training, "noise_seed": record.seeds.noise, "split_seed": record.seeds.split}
    value = seeds[name] if name in seeds else getattr(record, name)
    return "" if value is None else str(value)


def summarise(values: Sequence[float], lacking: int = 0) -> Summary:
    """Return n, mean and sample standard deviation."""
    return Summary(
        len(values),
        statistics.fmean(values) if values else None,
        statistics.stdev(values) if len(values) > 1 else None,
        lacking,
    )


def over_last(record: Record, epochs: int) -> Record:
    """Return a record whose metrics are means over so many last epochs, as far as its curves tell them."""
    if epochs == record.mean_over_last:
        return record
    last = {name: curve[-epochs:] for name, curve in record.curves.items() if name in record.metrics}
    held = {name: [value for value in values if value is not None] for name, values in last.items()}
    means = {name: summarise(values).mean if len(values) == epochs else None for name, values in held.items()}
    return replace(record, metrics=means, mean_over_last=epochs)


def epoch_values(records: Iterable[Record], metric: str) -> list[tuple[int, list[float]]]:
    """Return the epochs, counted from 1, in which any run has a metric, each with the values of those runs."""
    found: dict[int, list[float]] = {}
    for curve in (record.curves.get(metric, ()) for record in records):
        for epoch, value in enumerate(curve, start=1):
            if value is not None:
                found.setdefault(epoch, []).append(value)
    return sorted(found.items())
