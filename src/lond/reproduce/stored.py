"""What a results store holds of a cell of the paper, told from the records alone: no network is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lond.paper import Cell
from lond.paper.cells import KNOWN_ONLY
from lond.reproduce.names import LENGTH, OPEN_IMAGES, WARMUP
from lond.store.differences import flat
from lond.store.records import Record

REDUCED = {("mini", "cifar80n"): "mini80"}
"""(Scale, data set of the paper) -> the data set that stands for it, where it is another one."""


@dataclass(frozen=True)
class Found:
    """The runs of a cell by training seed, and those of other settings or data that would fit it, too."""

    runs: Mapping[int, Record] = field(default_factory=dict)
    others: tuple[Record, ...] = ()


def found_of(cell: Cell, scale: str, records: Iterable[Record]) -> Found:
    """Return the stored runs of a cell on a scale.

    Runs that differ in more than their training seed are no repetitions of each other. The largest group counts, of
    equal ones the latest; the rest are named in ``others``.
    """
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        if fits(record, cell, scale):
            data = tuple(sorted((name, *vars(part).values()) for name, part in record.fingerprint.items()))
            groups.setdefault((record.variant, record.seeds.split, str(record.seeds.noise), data), []).append(record)
    if not groups:
        return Found()
    chosen = max(groups, key=lambda key: (len(groups[key]), _latest(groups[key]), key))
    others = [record for key, group in groups.items() if key != chosen for record in group]
    runs = {record.seeds.training: record for record in groups[chosen]}
    return Found(dict(sorted(runs.items())), tuple(sorted(others, key=lambda record: record.name)))


def fits(record: Record, cell: Cell, scale: str) -> bool:
    """Tell whether a record is a run of a cell: its method, data, noise and scale, changed in what the cell changes."""
    data = REDUCED.get((scale, cell.data), cell.data)
    if (record.scale, record.method, record.data, record.noise) != (scale, cell.method, data, cell.noise):
        return False
    wanted = {key: value for key, value in cell.overrides.items() if not key.startswith(OPEN_IMAGES)}
    settings = flat(record.config)
    # The open-set noise of a run may be part of what its changes are relative to, so that they do not name it.
    if any((settings.get(key) == value) != (key in wanted) for key, value in KNOWN_ONLY.items()):
        return False
    return record.changes.keys() <= wanted.keys() and all(
        settings.get(key) == _on_scale(key, value, settings) for key, value in wanted.items()
    )


def _on_scale(key: str, value: Any, settings: Mapping[str, Any]) -> Any:
    """Return the value of a setting on the record's own scale: lengths of the paper become those of the scale."""
    return settings.get({WARMUP: LENGTH, LENGTH: WARMUP}[key]) if key in (WARMUP, LENGTH) else value


def _latest(records: Sequence[Record]) -> str:
    return max(record.finished or "" for record in records)
