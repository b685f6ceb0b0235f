"""What a results store holds of a cell of the paper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lond.config import RunConfig
from lond.paper import Cell
from lond.paper.reproduce.configs import scaled_config
from lond.presets.earlier import as_first_released
from lond.results.identity import changed_settings, repetitions_of
from lond.results.records import PaperScale, Record


@dataclass(frozen=True)
class CellRuns:
    """The runs of a cell by training seed, and those on other data that would fit it, too."""

    runs: Mapping[int, Record] = field(default_factory=dict)
    others: tuple[Record, ...] = ()
    earlier: tuple[str, ...] = ()
    """Settings of version 0.1.0 ("clamp_logits=false") that the runs have, since none with today's are stored."""


Drawn = tuple[Any, ...]
"""What contenders must share to be compared: seeds of split and noise, and the test images."""


def found_of(
    cell: Cell, scale: PaperScale, records: Iterable[Record], drawn: Mapping[str, Drawn] | None = None
) -> CellRuns:
    """Return the stored runs of a cell on a scale.

    Runs that differ in more than their training seed are no repetitions of each other. The largest group counts, of
    equal ones the latest; the rest are named in ``others``. Where the defaults have changed since version 0.1.0 and
    nothing was run with the new ones yet, the runs of that version count.

    Args:
        cell: of a table or figure.
        scale: how large.
        records: of a store.
        drawn: for each data set and noise what all cells share (``shared_draws``); runs without it do not count.
    """
    groups: dict[tuple[Any, ...], list[Record]] = {}
    fitting, earlier = _fitting(cell, scale, records)
    for record in fitting:
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
    others.sort(key=lambda record: record.name)
    return CellRuns(dict(sorted(runs.items())), tuple(others), earlier if runs else ())


def shared_draws(cells: Sequence[Cell], scale: PaperScale, records: Sequence[Record]) -> dict[str, Drawn]:
    """Return, for each data set and noise, the seeds and test images that most runs of these cells have.

    Of equally frequent ones those of the latest run are taken.
    """
    fitting = dict.fromkeys(record for cell in cells for record in _fitting(cell, scale, records)[0])
    groups: dict[str, dict[Drawn, list[Record]]] = {}
    for record in fitting:
        groups.setdefault(place_of(record), {}).setdefault(drawn_of(record), []).append(record)
    return {
        place: max(by_draw, key=lambda draw: (len(by_draw[draw]), _latest(by_draw[draw]), draw))
        for place, by_draw in groups.items()
    }


def _fitting(cell: Cell, scale: PaperScale, records: Iterable[Record]) -> tuple[list[Record], tuple[str, ...]]:
    """Return the repetitions of a cell, and in which settings they are those of version 0.1.0."""
    records, config = list(records), _config(cell, scale)
    first = as_first_released(config)
    found = repetitions_of(config, records)
    if found or first == config:
        return found, ()
    changed = changed_settings(first, config)
    told = tuple(f"{key.removeprefix('settings.')}={json.dumps(value)}" for key, value in changed.items())
    return repetitions_of(first, records), told


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
