"""What a results store holds of a cell of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lond.config import RunConfig
from lond.paper import Cell
from lond.paper.reproduce.configs import scaled_config
from lond.results.identity import repetitions_of
from lond.results.records import PaperScale, Record


@dataclass(frozen=True)
class CellRuns:
    """The runs of a cell by training seed, and those on other data that would fit it, too."""

    runs: Mapping[int, Record] = field(default_factory=dict)
    others: tuple[Record, ...] = ()


Drawn = tuple[Any, ...]
"""What contenders must share to be compared: seeds of split and noise, and the test images."""


def found_of(
    cell: Cell, scale: PaperScale, records: Iterable[Record], drawn: Mapping[str, Drawn] | None = None
) -> CellRuns:
    """Return the stored runs of a cell on a scale.

    Runs that differ in more than their training seed are no repetitions of each other. The largest group counts, of
    equal ones the latest; the rest are named in ``others``.

    Args:
        cell: of a table or figure.
        scale: how large.
        records: of a store.
        drawn: for each data set and noise what all cells share (``shared_draws``); runs without it do not count.
    """
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in repetitions_of(_config(cell, scale), records):
        data = tuple(sorted((name, *vars(part).values()) for name, part in record.fingerprint.items()))
        groups.setdefault((*drawn_of(record), data), []).append(record)
    drawn = drawn or {}
    usable = {
        key: group
        for key, group in groups.items()
        if drawn.get(place_of(group[0]), drawn_of(group[0])) == drawn_of(group[0])
    }
    chosen = max(usable, key=lambda key: (len(usable[key]), _latest(usable[key]), key), default=None)
    others = [record for key, group in groups.items() if key != chosen for record in group]
    runs = {record.seeds.training: record for record in usable[chosen]} if chosen else {}
    return CellRuns(dict(sorted(runs.items())), tuple(sorted(others, key=lambda record: record.name)))


def shared_draws(cells: Sequence[Cell], scale: PaperScale, records: Sequence[Record]) -> dict[str, Drawn]:
    """Return, for each data set and noise, the seeds and test images that most runs of these cells have.

    Of equally frequent ones those of the latest run are taken.
    """
    fitting = dict.fromkeys(record for cell in cells for record in repetitions_of(_config(cell, scale), records))
    groups: dict[str, dict[Drawn, list[Record]]] = {}
    for record in fitting:
        groups.setdefault(place_of(record), {}).setdefault(drawn_of(record), []).append(record)
    return {
        place: max(by_draw, key=lambda draw: (len(by_draw[draw]), _latest(by_draw[draw]), draw))
        for place, by_draw in groups.items()
    }


@cache
def _config(cell: Cell, scale: PaperScale) -> RunConfig:
    return scaled_config(cell, scale)


def place_of(record: Record) -> str:
    """Return where a record stands in a table: its data set and noise."""
    return f"{record.data} {record.noise}"


def drawn_of(record: Record) -> Drawn:
    """Return the seeds of split and noise, and the test images; training images differ where cells choose them."""
    test = record.fingerprint.get("test")
    return (record.seeds.split, str(record.seeds.noise), *(vars(test).values() if test else ()))


def _latest(records: Sequence[Record]) -> str:
    return max(record.finished or "" for record in records)
