"""Contenders in order, beside their order in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from lond.paper.reproduce.lines import Line
from lond.results.groups import Summary
from lond.results.tables import LOWER_IS_BETTER, NONE, Column, Table, shown


def ranks(values: Mapping[str, float], lower_is_better: bool = False) -> dict[str, int]:
    """Return ranks from 1 for the best; equal values share the better rank."""
    signed = {name: value if lower_is_better else -value for name, value in values.items()}
    return {name: 1 + sum(other < value for other in signed.values()) for name, value in signed.items()}


def ranked(lines: Sequence[Line]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the ranks here and in the paper, by contender; second readings take no part.

    In the paper only those are counted that have a value here, so that both ranks are among the same.
    """
    own = {line.row: line for line in lines if not line.reading and line.summary.mean is not None}
    lower = any(line.metric in LOWER_IS_BETTER for line in lines)
    here = {name: mean for name, line in own.items() if (mean := line.summary.mean) is not None}
    paper = {name: line.published for name, line in own.items() if line.published is not None}
    return ranks(here, lower), ranks(paper, lower)


def same_order(lines: Sequence[Line]) -> tuple[int, int]:
    """Return how many pairs of contenders stand in the paper's order here, and how many there are; its ties aside."""
    here, paper = ranked(lines)
    pairs = [(a, b) for a, b in combinations(paper, 2) if paper[a] != paper[b]]
    return sum((here[a] - here[b]) * (paper[a] - paper[b]) > 0 for a, b in pairs), len(pairs)


def ranked_table(lines: Sequence[Line], aurocs: Mapping[str, Summary] | None = None) -> Table:
    """Return one row a contender, best first.

    Args:
        lines: of one data set, noise and metric.
        aurocs: contender -> how well its own score ranks foreign images; a column besides, if there are any.
    """
    here, paper = ranked(lines)
    lower = any(line.metric in LOWER_IS_BETTER for line in lines)
    found = [(line, mean) for line in lines if (mean := line.summary.mean) is not None]
    rows = []
    for line, _ in sorted(found, key=lambda pair: pair[1] if lower else -pair[1]):
        own = "" if line.reading else line.row
        places = (str(order.get(own, NONE)) for order in (here, paper))
        values = shown(line.summary, "percent"), shown(line.published, "percent"), shown(line.delta, "points")
        beside = (shown(aurocs.get(line.row), "percent"),) if aurocs else ()
        rows.append((line.name, *values, *places, *beside))
    titles = ("contender", "here", "paper", "here - paper", "rank here", "rank in the paper")
    return Table(tuple(map(Column, (*titles, *(("AUROC here",) if aurocs else ())))), tuple(rows))
