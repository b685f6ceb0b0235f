"""How rates and shares are told: in a notebook and in figures the same as on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lond.audit.table import AuditTable
from lond.types import Verdict
from lond.webpage.style import shown

RATES = {"wrong": ("wrong labels", Verdict.MISLABELLED), "foreign": ("foreign images", Verdict.FOREIGN)}
"""Estimated rate in a summary -> what it is a share of, and the verdict whose style it has."""

OLDER = {"wrong": "closed", "foreign": "open"}
"""Name of a rate -> its name in summaries of version 0.1."""


def chance_text(share: float) -> str:
    """Return a chance in percent, never rounded up to certainty; "" if it is not known."""
    return f"{100 if share >= 1 else min(99, round(100 * share))} %" if math.isfinite(share) else ""


def caption(table: AuditTable, place: int, most: int = 30) -> tuple[str, str, str]:
    """Return what stands below the picture of a row: its label, the other one suggested, and the verdict's chance.

    Every percentage is the chance of the words before it, as on the cards of the page. The last two may be "".

    Args:
        table: the audit's table.
        place: row.
        most: characters of a label.
    """
    given, suggested, verdict = table.label[place], table.suggested_label[place], table.verdict[place]
    sure, wrong, p_value = table.confidence[place], table.wrong_score[place], table.p_value[place]
    # Audits of version 0.1 have a p-value in place of the chance to be foreign.
    foreign = f"foreign {chance_text(sure)}" if math.isnan(p_value) else f"p {p_value:.2g}"
    said = {
        Verdict.FOREIGN: foreign,
        Verdict.CLEAN: f"label right {chance_text(sure)}",
        Verdict.MISLABELLED: "" if math.isnan(wrong) else f"label wrong {chance_text(wrong)}",
    }
    other = f"→ {shown(suggested, most)} {chance_text(sure)}" if suggested and suggested != given else ""
    return shown(given, most) if given else "(no label)", other.rstrip(), said.get(Verdict(verdict), "").rstrip()


@dataclass(frozen=True)
class Rate:
    """An estimated share with its interval, as far as a summary gives them."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the estimate with its interval, in percent."""
        return f"{100 * self.estimate:.1f} % ({100 * self.low:.1f}–{100 * self.high:.1f} %)"


def read_rate(rates: object, kind: str) -> Rate | None:
    """Return the rate "wrong" or "foreign" of a part of a summary, None if it was not estimated."""
    entry = rates.get(kind, rates.get(OLDER.get(kind, kind))) if isinstance(rates, Mapping) else None
    estimate = _number(entry.get("estimate")) if isinstance(entry, Mapping) else None
    if entry is None or estimate is None:
        return None
    low, high = (_number(entry.get(name)) for name in ("low", "high"))
    return Rate(estimate, estimate if low is None else low, estimate if high is None else high)


def class_rates(summary: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the classes of a summary with the part of it that holds their rates."""
    rates = summary.get("rates")
    entries = rates.get("by_class") if isinstance(rates, Mapping) else None
    return [(str(entry.get("class", "")), entry) for entry in entries or () if isinstance(entry, Mapping)]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
