"""The table of an audit with decisions taken in, as a second look shows them; no other image is judged again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lond.audit.correct.apply import plan_corrections
from lond.audit.correct.decisions import ReviewDecision
from lond.audit.correct.plan import FOREIGN_REASONS, Action, PlannedImage
from lond.audit.table import AuditTable
from lond.types import Verdict

CHANGED = ("verdict", "suggested_label", "confidence", "wrong_score", "foreign_score", "wrong_if_known", "decided")
"""Columns that follow a decision."""


def with_decisions(
    table: AuditTable, decisions: Mapping[str, ReviewDecision], *, allow_new_labels: bool = False
) -> AuditTable:
    """Return the table in which verdict, suggestion and scores of decided images are a person's.

    Decisions on unreadable images, and those that tell no label, change nothing but the column ``decided``.

    Args:
        table: the audit's table.
        decisions: id -> decision, from ``read_decisions``.
        allow_new_labels: whether a person may give labels that the table does not know.

    Raises:
        DataError: the decisions name unknown images or labels.
    """
    plan = plan_corrections(table, decisions, allow_new_labels=allow_new_labels)
    columns: dict[str, list[Any]] = {name: [] for name in CHANGED}
    for row, image in zip(table.rows(), plan.images, strict=True):
        if image.id in decisions and row["verdict"] != Verdict.UNREADABLE:
            row |= _told(image) | {"decided": str(decisions[image.id].choice)}
        for name, values in columns.items():
            values.append(row[name])
    return replace(table, **{name: tuple(values) for name, values in columns.items()})


def _told(image: PlannedImage) -> dict[str, Any]:
    """Return what a person's decision says about an image; nothing where it tells no label."""
    if image.action == Action.LEAVE_OUT and image.reason in FOREIGN_REASONS:
        wrong = 0.0 if image.given else math.nan
        return _cells(Verdict.FOREIGN, "", wrong, 1.0) | {"wrong_if_known": math.nan}
    if not image.confirmed:
        return {}
    if not image.given:
        return _cells(Verdict.UNLABELLED, image.label, math.nan, 0.0)
    is_right = image.label == image.given
    return _cells(Verdict.CLEAN if is_right else Verdict.MISLABELLED, image.label, float(not is_right), 0.0)


def _cells(verdict: Verdict, label: str, wrong: float, foreign: float) -> dict[str, Any]:
    scores = {"wrong_score": wrong, "foreign_score": foreign, "wrong_if_known": wrong}
    return {"verdict": str(verdict), "suggested_label": label, "confidence": 1.0} | scores
