"""Choosing cells of a table or figure by pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from lond.errors import ConfigError
from lond.paper import DATA_SETS, Cell

WILD = "*?["


def chosen_cells(cells: Sequence[Cell], patterns: Iterable[str]) -> tuple[Cell, ...]:
    """Return the cells that fit: patterns about the same thing are alternatives, all things must fit.

    A pattern is about a data set if it fits one, else about a noise, else about a contender (row, method, detector). It
    is part of a name, or a whole one with ``*``, ``?`` or ``[...]``; case does not matter.

    Raises:
        ConfigError: a pattern fits no cell, or no cell fits all of them.
    """
    asked: dict[str, list[str]] = {}
    for pattern in patterns:
        asked.setdefault(_subject(cells, pattern), []).append(pattern)
    chosen = tuple(
        cell
        for cell in cells
        if all(any(_fits(cell, subject, one) for one in group) for subject, group in asked.items())
    )
    if asked and not chosen:
        raise ConfigError(f"no cell fits all of {', '.join(one for group in asked.values() for one in group)}")
    return chosen


def choices(cells: Iterable[Cell]) -> str:
    """Return what patterns can name, as one line."""
    cells = list(cells)
    rows = dict.fromkeys(cell.row for cell in cells)
    data = dict.fromkeys(cell.data for cell in cells)
    noises = dict.fromkeys(cell.noise for cell in cells if cell.noise)
    methods = dict.fromkeys(cell.method for cell in cells)
    parts = {"rows": rows, "methods": methods, "data": data, "noise": noises}
    return "; ".join(f"{title}: {', '.join(names)}" for title, names in parts.items() if names)


def _names(cell: Cell, subject: str) -> tuple[str, ...]:
    if subject == "data":
        return cell.data, DATA_SETS[cell.data].printed
    return (cell.noise,) if subject == "noise" else (cell.row, cell.method, cell.detector)


def _subject(cells: Sequence[Cell], pattern: str) -> str:
    if pattern.strip():
        for subject in ("data", "noise", "contender"):
            if any(_fits(cell, subject, pattern) for cell in cells):
                return subject
    raise ConfigError(f"--cells {pattern!r} fits nothing; choose from {choices(cells)}")


def _fits(cell: Cell, subject: str, pattern: str) -> bool:
    wanted = pattern.strip().lower()
    names = [name.lower() for name in _names(cell, subject) if name]
    if any(sign in wanted for sign in WILD):
        return any(fnmatchcase(name, wanted) for name in names)
    return any(wanted in name for name in names)
