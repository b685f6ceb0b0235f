"""Figures as a reader wants them."""

from __future__ import annotations

from lond.results.groups import Summary

NONE = "–"


def summary_text(summary: Summary | None, form: str = ".2f") -> str:
    """Return "mean ± deviation (n=...)" of figures in percent."""
    if summary is None or summary.mean is None:
        return NONE
    deviation = "" if summary.deviation is None else f" ± {summary.deviation:.2f}"
    return f"{summary.mean:{form}}{deviation} (n={summary.n})"


def number_text(value: float | None, form: str = ".2f") -> str:
    """Return a number, or a dash."""
    return NONE if value is None else format(value, form)
