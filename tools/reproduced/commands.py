"""The commands that run some cells again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from lond.paper import Cell, Experiment
from lond.paper.reproduce.filters import WILD, chosen_cells

TrainingSeeds = tuple[int, ...]


def commands_of(
    experiment: Experiment, scale: str, seeds: Mapping[Cell, TrainingSeeds], known: Sequence[Cell]
) -> list[str]:
    """Return the fewest simple commands that run cells with their seeds.

    Args:
        experiment: the table or figure.
        scale: of the runs.
        seeds: cell -> training seeds.
        known: cells of the experiment that can be run on the scale; what is all of them is not named.
    """
    rows: dict[tuple[str, str, TrainingSeeds], list[str]] = {}
    for cell, own in seeds.items():
        rows.setdefault((cell.data, cell.noise, own), []).append(cell.row)
    # A figure of one noise is asked for one at a time.
    one = experiment.name.startswith("figure") and len({cell.noise for cell in experiment.cells}) == 1
    noises: dict[tuple[str, TrainingSeeds, tuple[str, ...], str], list[str]] = {}
    for (data, noise, own), names in rows.items():
        noises.setdefault((data, own, tuple(dict.fromkeys(names)), noise if one else ""), []).append(noise)
    sets: dict[tuple[TrainingSeeds, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (data, own, contenders, _), these in noises.items():
        sets.setdefault((own, contenders, tuple(these)), []).append(data)
    return [
        _command(experiment, scale, own, [
            *_named(datas, (cell.data for cell in known)),
            *_named(these, (cell.noise for cell in known)),
            *_exact(contenders, [cell for cell in known if cell.data in datas]),
        ])
        for (own, contenders, these), datas in sets.items()
    ]  # fmt: skip


def _command(experiment: Experiment, scale: str, seeds: TrainingSeeds, patterns: Sequence[str]) -> str:
    words = ["lond", "reproduce", experiment.name, "--scale", scale, "--seeds", ",".join(map(str, seeds))]
    return shlex.join([*words, *(word for pattern in patterns for word in ("--cells", pattern))])


def _named(chosen: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names to ask for; none if they are all."""
    names = [name for name in dict.fromkeys(chosen) if name]
    return [] if set(names) == {name for name in known if name} else names


def _exact(rows: Sequence[str], known: Sequence[Cell]) -> list[str]:
    """Return patterns of rows; a name that is part of another one ends in a set of one sign, so that it fits alone."""
    patterns = []
    for row in _named(rows, (cell.row for cell in known)):
        alone = {cell.row for cell in chosen_cells(known, [row])} == {row}
        patterns.append(row if alone and not any(sign in row for sign in WILD) else f"{row[:-1]}[{row[-1]}]")
    return patterns
