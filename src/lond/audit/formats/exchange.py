"""Formats by name, and what came back from another tool as decisions."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lond.audit.correct.decisions import Choice
from lond.audit.formats import datalab, fiftyone, huggingface, label_studio
from lond.audit.formats.checked import Checked
from lond.audit.table import AuditTable
from lond.errors import ConfigError, DataError, counted
from lond.io.csv_files import printable, write_rows
from lond.types import Verdict

COLUMNS = ("id", "path", "label", "verdict", "suggested_label", "confidence", "decision", "new_label")
"""Columns of a file of decisions, as the page writes it."""

SUGGESTING = (Verdict.MISLABELLED, Verdict.UNLABELLED, Verdict.DUPLICATE_CONFLICT)
"""Verdicts whose suggested label a person accepts."""


@dataclass(frozen=True)
class Format:
    """How an audit is written for another tool, and how labels are read back from it (id -> label, None: foreign).

    ``chosen`` says whether what is read back holds only what a person chose, not every label of the set, ``whole``
    whether unreadable images are part of the export, and ``next_step`` what to do with it; ``{root}`` stands for the
    audited folder there.
    """

    write: Callable[[Path, AuditTable, Path | None], list[Path]]
    read: Callable[[Path], dict[str, str | None]]
    chosen: bool = False
    whole: bool = True
    next_step: str = ""

    def notes(self, table: AuditTable, root: Path | None) -> list[str]:
        """Return what a person should know about an export of a table: what it lacks, and how to go on."""
        unreadable = 0 if self.whole else table.verdict.count(Verdict.UNREADABLE)
        are = "is" if unreadable == 1 else "are"
        left_out = (
            f"{counted(unreadable, 'unreadable image')} {are} left out; the export holds {len(table) - unreadable}"
        )
        step = self.next_step.format(root=(root or Path()).absolute())
        return [*([left_out] if unreadable else []), *([step] if step else [])]


FORMATS = {
    "datalab": Format(datalab.write, datalab.read),
    "fiftyone": Format(fiftyone.write, fiftyone.read, next_step=fiftyone.USE),
    "huggingface": Format(huggingface.write, huggingface.read, whole=False, next_step=huggingface.COLUMNS),
    "label-studio": Format(
        label_studio.write, label_studio.read, chosen=True, whole=False, next_step=label_studio.SET_UP
    ),
}
"""Name -> format."""


def format_of(name: str) -> Format:
    """Return the format of a name.

    Raises:
        ConfigError: there is none.
    """
    if name not in FORMATS:
        raise ConfigError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def export_audit(table: AuditTable, name: str, folder: Path, root: Path | None = None) -> list[Path]:
    """Write an audit's table in the format of another tool and return the files.

    Args:
        table: the audit's table.
        name: of the format.
        folder: where to write; it is made.
        root: folder that the paths of the table are relative to.

    Raises:
        ConfigError: there is no such format.
        DataError: a picture is missing, or the folder holds something already.
    """
    chosen = format_of(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} is not empty; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    return chosen.write(folder, table, root)


def decisions_from(
    labels: Mapping[str, str | None], table: AuditTable, *, keep_unchanged: bool = True
) -> dict[str, tuple[Choice, str]]:
    """Return id -> decision and label, from the labels that another tool gave back.

    A label that differs from the given one relabels the image, and none makes it foreign; either accepts the audit's
    verdict if it says the same. The given one keeps it, or without ``keep_unchanged`` decides nothing unless it is
    ``Checked``.
    Images that had no label are left out unless they have one now. Images may be named by id, or by a path that ends
    in the table's path of one image alone, with or without the ending of the file.

    Raises:
        DataError: the labels name images that the table does not.
    """
    given = {printable(row["id"]): row for row in table.rows()}
    paths = _ids_by_path(table)
    found = {shown: shown if shown in given else _by_path(shown, paths) for shown in labels}
    strangers = [shown for shown, name in found.items() if name is None]
    if strangers:
        raise DataError(
            f"{len(strangers)} of {len(labels)} images are not in the table, among them {strangers[0][:200]!r}; "
            "they belong to another audit, or the other tool has renamed them"
        )
    decisions = {}
    for shown, label in labels.items():
        row = given[str(found[shown])]
        unchanged = bool(row["label"]) and label == printable(row["label"])
        decided = (Choice.KEEP, row["label"]) if unchanged else _changed(row, label)
        if decided is not None and (keep_unchanged or not unchanged or isinstance(label, Checked)):
            decisions[row["id"]] = decided
    return decisions


def _changed(row: dict[str, Any], label: str | None) -> tuple[Choice, str] | None:
    """Return the decision that another label of a row means; None where there is still no label."""
    verdict, suggested = row["verdict"], row["suggested_label"]
    if label is None:
        choice = Choice.ACCEPT if verdict == Verdict.FOREIGN else Choice.FOREIGN
        return (choice, "") if row["label"] else None
    if verdict in SUGGESTING and label and label == printable(suggested):
        return Choice.ACCEPT, suggested
    return (Choice.RELABEL, label) if label else None


def _ids_by_path(table: AuditTable) -> dict[str, str | None]:
    """Return path, and path without its ending, -> id; None where several images share it."""
    ids: dict[str, str | None] = {}
    for name, path in zip(map(printable, table.id), map(printable, table.path), strict=True):
        path = path.lstrip("/")
        for text in {path, posixpath.splitext(path)[0]}:
            ids[text] = None if text in ids else name
    return ids


def _by_path(shown: str, ids: Mapping[str, str | None]) -> str | None:
    """Return the id of the image whose path is the longest end of a path."""
    parts = shown.replace("\\", "/").lstrip("/").split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts))]
    return next((ids[end] for end in ends if end in ids), None)


def write_decisions(path: Path, decisions: Mapping[str, tuple[Choice, str]], table: AuditTable) -> None:
    """Write a file of decisions as the page would, for ``lond apply`` or to load into the page."""
    rows = [
        (row["id"], row["path"], row["label"], row["verdict"], row["suggested_label"], "", *decisions[row["id"]])
        for row in table.rows()
        if row["id"] in decisions
    ]
    write_rows(path, COLUMNS, rows)
