"""Choosing cells of a table or figure by pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from lond.errors import ConfigError
from lond.paper import DATA_SETS, NOISE_NAMES, Cell
from lond.paper.cells import preset_name

WILD = "*?["


def chosen_cells(cells: Sequence[Cell], patterns: Iterable[str]) -> tuple[Cell, ...]:
    """Return the cells that fit: patterns about the same thing are alternatives, all things must fit.

    A pattern is about a data set if it fits one, else about a noise, else about a contender (row, method, detector). It
    is part of a name, or a whole one with ``*``, ``?`` or ``[...]``; case does not matter. The whole name of a noise
    that the paper does not print the cells for ("sym50") gives the same cells under that noise.

    Raises:
        ConfigError: a pattern fits no cell, no cell fits all of them, or a figure of one noise is asked for several.

    Examples:
        >>> from lond.paper import experiment
        >>> {cell.method for cell in chosen_cells(experiment("table1").cells, ["SED", "sym20"])}
        {'sed'}
    """
    asked: dict[str, list[str]] = {}
    for pattern in patterns:
        subject = "noise" if _is_other_noise(cells, pattern) else _subject(cells, pattern)
        asked.setdefault(subject, []).append(pattern)
    others = [pattern.strip().lower() for pattern in asked.get("noise", []) if _is_other_noise(cells, pattern)]
    printed = {cell.noise for cell in cells}
    cells = [*cells, *(cell for noise in dict.fromkeys(others) for cell in under_noise(cells, noise))]
    chosen = tuple(
        cell
        for cell in cells
        if all(any(_fits(cell, subject, one) for one in group) for subject, group in asked.items())
    )
    if asked and not chosen:
        raise ConfigError(f"no cell fits all of {', '.join(one for group in asked.values() for one in group)}")
    noises = dict.fromkeys(cell.noise for cell in chosen)
    if len(printed) == 1 < len(noises) and chosen[0].experiment.startswith("figure"):
        raise ConfigError(f"{chosen[0].experiment} shows one noise at a time; choose one of: {', '.join(noises)}")
    return chosen


def under_noise(cells: Iterable[Cell], noise: str) -> tuple[Cell, ...]:
    """Return cells under another noise, each row and data set once; none of those whose noise is the data's own.

    Examples:
        >>> from lond.paper import experiment
        >>> {cell.noise for cell in under_noise(experiment("table1").cells, "sym50")}
        {'sym50'}
    """
    moved = (
        replace(cell, noise=noise, preset=preset_name(cell.data, noise))
        for cell in cells
        if cell.noise not in ("", noise)
    )
    return tuple(dict.fromkeys(moved))


def other_noises(cells: Sequence[Cell]) -> list[str]:
    """Return the noises that cells can be run under besides those they are printed for.

    Examples:
        >>> from lond.paper import experiment
        >>> other_noises(experiment("table4").cells)
        ['sym20', 'sym50']
    """
    held = {cell.noise for cell in cells}
    return [noise for noise in NOISE_NAMES.values() if noise not in held] if held - {""} else []


def choices(cells: Iterable[Cell]) -> str:
    """Return what patterns can name, as one line.

    Examples:
        >>> from lond.paper import experiment
        >>> "SED" in choices(experiment("table1").cells)
        True
    """
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


def _is_other_noise(cells: Sequence[Cell], pattern: str) -> bool:
    return pattern.strip().lower() in other_noises(cells)


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
