"""What a second look changed beyond its decisions: verdicts, and decisions that it no longer has."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

from lond.audit.contents import AuditContents
from lond.audit.correct.decisions import Choice
from lond.audit.saved import SUMMARY, kept_decisions, read_summary, table_of
from lond.audit.table import read_audit
from lond.errors import DataError, counted
from lond.io.json_files import read_json
from lond.types import Verdict

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
    told = f"{counted(changes.total(), 'undecided image')} changed verdict: {', '.join(named)}"
    if any(new == Verdict.FOREIGN for _, new in changes):
        told += f"; check on the page what is foreign now{_told_limits(earlier, found)}, as lond apply leaves it out"
    return told


def _told_limits(earlier: Path, found: AuditContents) -> str:
    """Return the limits of foreign, now and before, if they differ."""
    limits = [100 * summary.get("threshold", 1) for summary in (found.summary, read_summary(earlier / SUMMARY))]
    return "" if limits[0] == limits[1] else f" (from {limits[0]:.0f} % on; before, from {limits[1]:.0f} %)"


def told_undecided(earlier: Path, found: AuditContents, folder: Path) -> str:
    """Return how many images were decided in the earlier audit of a folder and are not any more; "" if none.

    The earlier decisions stay in the folder, and the text says how to return to them.

    Raises:
        DataError: the files of the earlier audit are damaged.
    """
    table = read_audit(table_of(earlier))
    decided = {name for name, word in zip(table.id, table.decided, strict=True) if word}
    now = found.table
    lost = sum(not word and name in decided for name, word in zip(now.id, now.decided, strict=True))
    if not lost:
        return ""
    are = ("was", "is") if lost == 1 else ("were", "are")
    told = f"{counted(lost, 'image')} that {are[0]} decided before {are[1]} undecided now"
    kept = _decisions_of(earlier, folder)
    if kept is None:
        return f"{told}; the former decisions are in the column decided of {table_of(earlier)}"
    return (
        f"{told}, as the new decisions lack {'it' if lost == 1 else 'them'}; "
        f"--decisions {shlex.quote(str(kept))} returns to the former decisions"
    )


def _decisions_of(earlier: Path, folder: Path) -> Path | None:
    """Return the file with the decisions of an earlier audit of a folder; None if it is not there."""
    try:
        look = read_json(earlier / SUMMARY).get("second_look")
    except DataError:
        return None
    kept = kept_decisions(folder, str(look.get("key", ""))) if isinstance(look, dict) else None
    return kept if kept is not None and kept.is_file() else None
