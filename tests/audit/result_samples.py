"""Made-up audits for the tests of what a person does with one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from audit.page.page_samples import CLASSES, make_positions, make_summary, make_table, make_thumbnail

from lond.audit.result import Audit
from lond.audit.table import AuditTable

NASTY = ("<script>alert(1)</script>", "price $5 or $6", r"$\frac{1}{", "x" * 300, "\u202egnp\n", "lone\udc80", "", "ок")


def make_audit(rows: int = 300, **changes: Any) -> Audit:
    """Return an audit with all six verdicts, a threshold and a map."""
    table = changes.pop("table", None) or make_table(rows)
    unreadable = [verdict == "unreadable" for verdict in table.verdict]
    found = Audit(
        title="Audit of my images",
        table=table,
        class_names=CLASSES,
        summary=make_summary(table) | {"threshold": 2.1},
        positions=make_positions(table),
        thumbnail=lambda row: None if unreadable[row] else make_thumbnail(row, 32),
    )
    return replace(found, **changes)


def one_image(verdict: str = "mislabelled") -> Audit:
    """Return an audit of one image that nothing is known of but its verdict."""
    none = (math.nan,)
    table = AuditTable(
        *(
            ("a.png",),
            ("a.png",),
            ("cat",),
            (verdict,),
            ("dog",),
            none,
            none,
            none,
            none,
            none,
            none,
            ("",),
            ("",),
            ((),),
        )
    )
    summary = {"rates": {"wrong": None, "foreign": None, "by_class": []}, "threshold": None}
    return Audit("one", table, ("cat", "dog"), summary, [(math.nan, math.nan)], lambda row: None)


def nasty_audit() -> Audit:
    """Return an audit of classes with names that harm whoever shows them carelessly."""
    classes = tuple(name for name in NASTY if name)
    table = make_table(200, names=NASTY)
    again = {old: classes[place % len(classes)] for place, old in enumerate(CLASSES)} | {"": ""}
    table = replace(
        table,
        label=tuple(again[name] for name in table.label),
        suggested_label=tuple(again[name] for name in table.suggested_label),
    )
    rate = {"estimate": 0.1, "low": 0.0, "high": 0.3}
    by_class = [{"class": name, "images": 9, "wrong": rate, "foreign": None} for name in classes]
    summary = {
        "rates": {"wrong": rate, "foreign": None, "by_class": by_class},
        "notes": list(NASTY),
        "problems": [{"id": name, "reason": name} for name in NASTY],
    }
    return make_audit(table=table, class_names=classes, summary=summary, title=NASTY[0] + NASTY[1] + NASTY[5])


def many_classes(count: int) -> Audit:
    """Return an audit of so many classes, each a little worse than the last, and each taken for the next."""
    names = tuple(f"class {place}" for place in range(count))
    table = make_table(4 * count)
    table = replace(
        table,
        verdict=("mislabelled",) * len(table),
        label=tuple(names[row % count] for row in range(len(table))),
        suggested_label=tuple(names[(row + 1) % count] for row in range(len(table))),
    )
    by_class = [
        {
            "class": name,
            "images": 4,
            "wrong": {"estimate": at / 200, "low": at / 300, "high": at / 150},
            "foreign": None,
        }
        for at, name in enumerate(names)
    ]
    overall = {"estimate": 0.1, "low": 0.05, "high": 0.2}
    summary = {"rates": {"wrong": overall, "foreign": None, "by_class": by_class}, "threshold": None}
    return make_audit(table=table, class_names=names, summary=summary)
