"""Where the pictures of an exported audit lie."""

from __future__ import annotations

from pathlib import Path

from lond.audit.correct.link_tree import locate
from lond.audit.table import AuditTable
from lond.errors import DataError
from lond.io.csv_files import printable
from lond.types import Verdict


def picture_path(path: str, root: Path | None) -> str:
    """Return the absolute path of a picture, with forward slashes."""
    return printable(((root or Path()) / path).absolute().as_posix())


def picture_files(table: AuditTable, root: Path | None) -> list[str]:
    """Return the file of every readable image of a table, "" for the others.

    Raises:
        DataError: a file is missing.
    """
    source = (root or Path()).resolve()
    files, missing = [], []
    for path, verdict in zip(table.path, table.verdict, strict=True):
        try:
            files.append("" if verdict == Verdict.UNREADABLE else locate(path, source, allow_outside=True))
        except DataError:
            missing.append(path)
    if missing:
        raise DataError(
            f"{len(missing)} of {len(table)} images are no files below {source}, among them {missing[0][:200]!r}; give "
            "the audited folder as root (images in arrays, archives or boxes have no files of their own)"
        )
    return files
