"""Which figures of the audit, now and in version 0.1, meet their targets, counted over cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

Line = dict[str, Any]
Cells = dict[tuple[str, str, int], dict[str, Line]]
"""(part, cell, seed) -> contender -> stored line."""

OURS = ("audit", "audit-0.1")
LEVEL = 0.01
"""Within a point of the best peer counts as level."""

CLEAN_DOUBTED = 0.03
FALSE_ALARM_ERROR = 0.03
ASKED_FALSE_ALARMS = 0.1
CONFIDENCE_ERROR = 0.1
FEWEST = 10
"""Verdicts or suggestions below which a share is not judged."""
GAP = 0.02
"""Least accuracy between given and true labels at which what a correction recovers is judged."""

Verdict = bool | None
"""Whether a cell meets a target; None where the target does not apply."""


def level(column: str) -> Callable[[str, dict[str, Line]], Verdict]:
    """Return a check that a figure is at least the best peer's, up to a point."""

    def check(who: str, cell: dict[str, Line]) -> Verdict:
        peers = [line[column] for name, line in cell.items() if name not in OURS and line.get(column) is not None]
        own = cell[who].get(column)
        return None if own is None or not peers else bool(own >= max(peers) - LEVEL)

    return check


def holds(kind: str) -> Callable[[str, dict[str, Line]], Verdict]:
    """Return a check that an interval holds the truth."""
    return lambda who, cell: cell[who].get(f"rate_{kind}_holds")


def clean_kept(who: str, cell: dict[str, Line]) -> Verdict:
    """Tell whether few images of a clean set are doubted."""
    line = cell[who]
    return None if line["wrong"] + line["foreign"] > 0 else bool(line["doubted"] <= CLEAN_DOUBTED)


def foreign_right(who: str, cell: dict[str, Line]) -> Verdict:
    """Tell whether more than half of at least ten foreign verdicts are right."""
    line = cell[who]
    return None if line.get("called_foreign", 0) < FEWEST else bool((line["foreign_precision"] or 0) > 0.5)


def confidence_right(name: str) -> Callable[[str, dict[str, Line]], Verdict]:
    """Return a check that suggestions of a class of confidence are right as often as they say."""

    def check(who: str, cell: dict[str, Line]) -> Verdict:
        count, right, said = cell[who].get(f"confidence_{name}", (0, 0, 0))
        return None if count < FEWEST else abs(right - said) <= CONFIDENCE_ERROR

    return check


def expected_right(cells: Cells, who: str, name: str) -> float:
    """Return in how many cells ``confidence_right`` would be true on average if all confidences were exact."""
    expected = 0.0
    for cell in cells.values():
        count, _, said = cell.get(who, {}).get(f"confidence_{name}", (0, 0, 0))
        if count >= FEWEST:
            hits = np.arange(count + 1)
            within = np.abs(hits / count - said) <= CONFIDENCE_ERROR
            expected += float(binom.pmf(hits, count, said)[within].sum())
    return expected


def recovers_half(who: str, cell: dict[str, Line]) -> Verdict:
    """Tell whether the corrected set gains a probe half of what separates given from true labels."""
    line = cell[who]
    gap = line.get("probe_true", 0) - line.get("probe_given", 0)
    return None if gap < GAP else bool(line["probe_corrected"] - line["probe_given"] >= gap / 2 - 1e-9)


def alarms_kept(who: str, cell: dict[str, Line]) -> Verdict:
    """Tell whether the share of false alarms on known test images is what was asked for."""
    found = cell[who].get("false_alarms")
    return None if found is None else bool(abs(found - ASKED_FALSE_ALARMS) <= FALSE_ALARM_ERROR)


TARGETS: dict[str, tuple[Callable[[str, dict[str, Line]], Verdict], float]] = {
    "wrong AUROC, all images: ahead of or level with the best peer": (level("wrong_auroc"), 1.0),
    "wrong AUROC, known images: the same": (level("wrong_auroc_known"), 1.0),
    "wrong F1, all images: the same": (level("wrong_f1"), 1.0),
    "wrong F1, known images: the same": (level("wrong_f1_known"), 1.0),
    "foreign AUROC: the same": (level("foreign_auroc"), 1.0),
    "foreign average precision: the same": (level("foreign_ap"), 1.0),
    "interval holds the rate of wrong labels": (holds("wrong"), 0.9),
    "interval holds the rate of foreign images": (holds("foreign"), 0.9),
    "at most 3 % of a clean set doubted": (clean_kept, 1.0),
    "more than half of the foreign verdicts right (at least 10)": (foreign_right, 1.0),
    "confidence .5-.7 right within ten points (at least 10)": (confidence_right("50-70"), 1.0),
    "confidence .7-.9 the same": (confidence_right("70-90"), 1.0),
    "confidence above .9 the same": (confidence_right("90-100"), 1.0),
    "corrected set recovers half (gap of at least 2 points)": (recovers_half, 1.0),
    "false alarms on known test images within 3 points of 10 %": (alarms_kept, 1.0),
}
"""Target -> check of one cell, and the share of cells that must meet it."""


def met(cells: Cells, who: str, check: Callable[[str, dict[str, Line]], Verdict]) -> tuple[int, int]:
    """Return in how many cells a target is met, and in how many it applies."""
    found = [check(who, cell) for cell in cells.values() if who in cell]
    return sum(verdict is True for verdict in found), sum(verdict is not None for verdict in found)


def target_table(cells: Cells) -> str:
    """Return a Markdown table of cells that meet each target, for the audit, now and in version 0.1."""
    lines = ["| target | " + " | ".join(OURS) + " |", "| --- " * (len(OURS) + 1) + "|"]
    for name, (check, share) in TARGETS.items():
        entries = []
        for who in OURS:
            good, applies = met(cells, who, check)
            verdict = "met" if good >= share * applies else "**missed**"
            entries.append(f"{good} of {applies}, {verdict}" if applies else "-")
        lines.append(f"| {name} | " + " | ".join(entries) + " |")
    return "\n".join(lines) + "\n"
