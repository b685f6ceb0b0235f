"""What a person decided on the page, read from the file that the page gave them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from lond.errors import DataError, counted
from lond.io.csv_files import read_rows
from lond.types import Verdict


class Choice(StrEnum):
    """What a person said about one image."""

    ACCEPT = "accept"
    NOT_SURE = "not sure"
    RELABEL = "relabel"
    FOREIGN = "foreign"
    KEEP = "keep"


OTHER_WORDS = {"reject": Choice.NOT_SURE, "not-sure": Choice.NOT_SURE, "unsure": Choice.NOT_SURE}
"""Words that people, or earlier versions, write for a choice, besides its own."""


def choice_of(word: str) -> Choice | None:
    """Return the choice that a word of a table stands for, in whatever case; None for an empty one.

    Raises:
        DataError: there is no such choice.

    Examples:
        >>> choice_of("unsure")
        <Choice.NOT_SURE: 'not sure'>
    """
    text = word.strip().lower()
    if text in OTHER_WORDS:
        return OTHER_WORDS[text]
    if text and text not in tuple(Choice):
        raise DataError(f"{text[:40]!r} is not a decision; it must be {', '.join(Choice)} or empty")
    return Choice(text) if text else None


@dataclass(frozen=True)
class ReviewDecision:
    """A person's choice, and the verdict and suggestion it was made on ("" where not known).

    ``new_label`` is the label to give where the choice is to relabel, ``confidence`` that of the verdict, if known, and
    ``where`` the file, row and image for messages.
    """

    choice: Choice
    new_label: str = ""
    verdict: str = ""
    suggested_label: str = ""
    confidence: float | None = field(default=None, compare=False)
    where: str = field(default="", compare=False)

    @property
    def label(self) -> str | None:
        """The label that the person asked for, or None."""
        if self.choice == Choice.RELABEL:
            return self.new_label
        accepts = self.choice == Choice.ACCEPT and self.verdict not in (Verdict.CLEAN, Verdict.FOREIGN)
        return self.suggested_label or None if accepts else None


def read_decisions(path: Path) -> dict[str, ReviewDecision]:
    """Return id -> decision from a CSV file with the columns id, decision and new_label; skip undecided rows.

    Raises:
        DataError: the file is not one of decisions, or a row contradicts itself or another.

    Examples:
        >>> import csv
        >>> with open("decisions.csv", "w", newline="") as file:
        ...     csv.writer(file).writerows([("id", "decision", "new_label"), ("cat/7.jpg", "relabel", "dog")])
        >>> read_decisions(Path("decisions.csv"))["cat/7.jpg"].label
        'dog'
    """
    decisions: dict[str, ReviewDecision] = {}
    for number, row in enumerate(_rows(path), 1):
        where = f"{path}, row {number} ({row['id'][:80]!r})"
        decision = _decision(row, where)
        if decision is None:
            continue
        if decisions.setdefault(row["id"], decision) != decision:
            raise DataError(f"{where}: the same image is decided twice, differently; keep one of the rows")
    return decisions


def check_labels(decisions: Mapping[str, ReviewDecision], known: Collection[str], advice: str) -> None:
    """Check that decisions give known labels only.

    Raises:
        DataError: one does not; the message says where, and ends with ``advice``.
    """
    new = [name for name, each in decisions.items() if each.label is not None and each.label not in known]
    if new:
        first = decisions[new[0]]
        more = f" ({counted(len(new) - 1, 'more decision')} of this kind)" if len(new) > 1 else ""
        where = first.where or f"the decision on {new[0][:80]!r}"
        raise DataError(f"{where}: {first.label!r} is not a class of the audited set{more}; {advice}")


def read_not_copies(path: Path) -> frozenset[str]:
    """Return the ids of the images of which a person said, in a file of decisions, that they repeat no other image."""
    return frozenset(row["id"] for row in _rows(path) if row.get("not_a_copy", "").strip().lower() == "yes")


def _rows(path: Path) -> Iterator[dict[str, str]]:
    return read_rows(path, ("id", "decision"), "a file of decisions from the audit's page", complete=True)


def _decision(row: dict[str, str], where: str) -> ReviewDecision | None:
    new_label = row.get("new_label", "")
    try:
        choice = choice_of(row["decision"])
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    if choice is None:
        return None
    if choice == Choice.RELABEL and not new_label.strip():
        raise DataError(f"{where}: to relabel an image needs a new_label")
    if row.get("verdict", "") not in ("", *Verdict):
        raise DataError(f"{where}: {row['verdict'][:40]!r} is not a verdict; leave it as the page wrote it")
    verdict, suggested = row.get("verdict", ""), row.get("suggested_label", "")
    return ReviewDecision(choice, new_label, verdict, suggested, _number(row.get("confidence", "")), where)


def _number(text: str) -> float | None:
    """Return a finite number, or None for any other text."""
    with suppress(ValueError):
        return float(text) if math.isfinite(float(text)) else None
    return None
