"""Which verdicts a second look changed without a decision."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from lond.audit.contents import AuditContents
from lond.audit.correct.decisions import Choice
from lond.audit.saved import table_of
from lond.audit.table import read_audit
from lond.errors import counted

SHOWN = 4
"""Most kinds of change that are named."""


def told_changes(earlier: Path, found: AuditContents) -> str:
    """Return how many undecided images have another verdict than in the earlier audit of a folder; "" if none.

    Raises:
        DataError: the files of the earlier audit are damaged.
    """
    table = read_audit(table_of(earlier))
    before, now = dict(zip(table.id, table.verdict, strict=True)), found.table
    changes = Counter(
        (before[name], verdict)
        for name, verdict, word in zip(now.id, now.verdict, now.decided, strict=True)
        if word in ("", Choice.NOT_SURE) and before.get(name, verdict) != verdict
    )
    if not changes:
        return ""
    named = [f"{count} {old} -> {new}" for (old, new), count in changes.most_common(SHOWN)]
    rest = changes.total() - sum(count for _, count in changes.most_common(SHOWN))
    if rest:
        named.append(f"{rest} others")
    return f"{counted(changes.total(), 'undecided image')} changed verdict: {', '.join(named)}"
