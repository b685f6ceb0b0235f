"""What a results store holds of a cell of the paper, told from the records alone: no network is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lond.paper import Cell
from lond.paper.cells import KNOWN_ONLY
from lond.paper.reproduce.scales import AVERAGED, LENGTH, OPEN_IMAGES, WARMUP
from lond.results.differences import flat
from lond.results.records import Record

REDUCED = {("mini", "cifar80n"): "mini80"}
"""(Scale, data set of the paper) -> the data set that stands for it, where it is another one."""


@dataclass(frozen=True)
class Found:
    """The runs of a cell by training seed, and those of other settings or data that would fit it, too."""

    runs: Mapping[int, Record] = field(default_factory=dict)
    others: tuple[Record, ...] = ()


Drawn = tuple[Any, ...]
"""What contenders must share to be compared: seeds of split and noise, and the test images."""


def found_of(cell: Cell, scale: str, records: Iterable[Record], drawn: Mapping[str, Drawn] | None = None) -> Found:
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
    for record in records:
        if fits(record, cell, scale):
            data = tuple(sorted((name, *vars(part).values()) for name, part in record.fingerprint.items()))
            groups.setdefault((record.variant, *drawn_of(record), data), []).append(record)
    drawn = drawn or {}
    usable = {
        key: group
        for key, group in groups.items()
        if drawn.get(place_of(group[0]), drawn_of(group[0])) == drawn_of(group[0])
    }
    chosen = max(usable, key=lambda key: (len(usable[key]), _latest(usable[key]), key), default=None)
    others = [record for key, group in groups.items() if key != chosen for record in group]
    runs = {record.seeds.training: record for record in usable[chosen]} if chosen else {}
    return Found(dict(sorted(runs.items())), tuple(sorted(others, key=lambda record: record.name)))


def shared_draws(cells: Sequence[Cell], scale: str, records: Iterable[Record]) -> dict[str, Drawn]:
    """Return, for each data set and noise, the seeds and test images that most runs of these cells have.

    Of equally frequent ones those of the latest run are taken.
    """
    groups: dict[str, dict[Drawn, list[Record]]] = {}
    for record in records:
        if any(fits(record, cell, scale) for cell in cells):
            groups.setdefault(place_of(record), {}).setdefault(drawn_of(record), []).append(record)
    return {
        place: max(by_draw, key=lambda draw: (len(by_draw[draw]), _latest(by_draw[draw]), draw))
        for place, by_draw in groups.items()
    }


def place_of(record: Record) -> str:
    """Return where a record stands in a table: its data set and noise."""
    return f"{record.data} {record.noise}"


def drawn_of(record: Record) -> Drawn:
    """Return the seeds of split and noise, and the test images; training images differ where cells choose them."""
    test = record.fingerprint.get("test")
    return (record.seeds.split, str(record.seeds.noise), *(vars(test).values() if test else ()))


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
    # Images of another source are part of the data set's name.
    changed = {key for key in record.changes if not key.startswith(OPEN_IMAGES)}
    return changed <= wanted.keys() | ({AVERAGED} if LENGTH in wanted else set()) and all(
        settings.get(key) == _on_scale(key, value, settings) for key, value in wanted.items()
    )


def _on_scale(key: str, value: Any, settings: Mapping[str, Any]) -> Any:
    """Return the value of a setting on the record's own scale: lengths of the paper become those of the scale."""
    return settings.get({WARMUP: LENGTH, LENGTH: WARMUP}[key]) if key in (WARMUP, LENGTH) else value


def _latest(records: Sequence[Record]) -> str:
    return max(record.finished or "" for record in records)
