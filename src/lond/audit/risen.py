"""Why a second look estimates a higher rate than the audit before it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from lond.audit.contents import AuditContents
from lond.audit.correct.decisions import Choice
from lond.audit.saved import SUMMARY, read_summary, table_of
from lond.audit.table import AuditTable, read_audit
from lond.errors import counted

SCORES = {"wrong": ("wrong_score", "have wrong labels"), "foreign": ("foreign_score", "are foreign")}
"""Rate -> the column of its probabilities, and what is said of the images that it counts."""

SMALLEST = 0.0005
"""Rise that is worth a line: a smaller one is hardly seen in what is printed."""


def why_risen(earlier: Path, found: AuditContents) -> dict[str, str]:
    """Return for each rate that is higher than in the earlier audit of a folder a sentence that says why.

    Raises:
        DataError: the files of the earlier audit are damaged.
    """
    before = read_summary(earlier / SUMMARY).get("rates", {})
    risen = {kind: rate for kind in SCORES if (rate := _risen_from(before, found.summary["rates"], kind)) is not None}
    if not risen:
        return {}
    table, settled = read_audit(table_of(earlier)), _counted(found.summary["rates"]) - _counted(before)
    counts = [_told_settled(settled)] if settled > 0 else []
    return {
        kind: f"up from {100 * rate:.1f} %: "
        + "; ".join([*_more_than_expected(kind, table, found.table), *counts, "the others were judged again"])
        for kind, rate in risen.items()
    }


def _told_settled(settled: int) -> str:
    count = "counts" if settled == 1 else "count"
    return f"{counted(settled, 'more image', 'more images')} {count} now that conflicts are settled"


def _risen_from(before: dict[str, Any], now: dict[str, Any], kind: str) -> float | None:
    """Return the earlier estimate of a rate if it is clearly lower than now; None if it is not, or not known."""
    old, new = before.get(kind), now.get(kind)
    if not old or not new or new["estimate"] < old["estimate"] + SMALLEST:
        return None
    return float(old["estimate"])


def _counted(rates: dict[str, Any]) -> int:
    return sum(entry["images"] for entry in rates.get("by_class", ()))


def _more_than_expected(kind: str, earlier: AuditTable, now: AuditTable) -> list[str]:
    """Return how many of the decided images count, if that is more than the earlier probabilities come to."""
    column, words = SCORES[kind]
    likely = dict(zip(earlier.id, getattr(earlier, column), strict=True))
    decided = [
        (likely.get(name, math.nan), score)
        for name, score, word in zip(now.id, getattr(now, column), now.decided, strict=True)
        if word and word != Choice.NOT_SURE
    ]
    pairs = [(old, new) for old, new in decided if math.isfinite(old) and math.isfinite(new)]
    expected, counted = (sum(values) for values in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    if counted < expected + 0.5:
        return []
    return [f"{counted:.0f} of the images that you decided on {words}, where {expected:.0f} were expected"]
