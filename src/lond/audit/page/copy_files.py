"""Size and format of the files of copies, from which a person can tell which copy is the better one."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from lond.audit.table import AuditTable

FileFacts = tuple[int, int, int, str]
"""Width, height, bytes and format of an image file."""

MOST = 5_000
"""Images whose files are looked at: the page holds a short text for each."""


def facts_of_copies(table: AuditTable, folder: Path | None) -> dict[int, FileFacts]:
    """Return row -> facts of the images that repeat each other, without those whose file is not there or not an image.

    Args:
        table: the audit's table.
        folder: folder that its paths start from; None if the images lie in no files.
    """
    if folder is None:
        return {}
    found = ((row, facts_of_file(folder / table.path[row])) for row in rows_of_copies(table)[:MOST])
    return {row: facts for row, facts in found if facts is not None}


def rows_of_copies(table: AuditTable) -> list[int]:
    """Return the rows of images that repeat another one or are repeated, in order."""
    repeated = {name for name in table.duplicate_of if name}
    pairs = enumerate(zip(table.id, table.duplicate_of, strict=True))
    return [row for row, (name, other) in pairs if other or name in repeated]


def facts_of_file(path: Path) -> FileFacts | None:
    """Return the facts of one file from its head; None if it is not there or not an image."""
    try:
        # A path of the table may name anything, also a pipe, from which reading would never end.
        if not path.is_file():
            return None
        with Image.open(path) as picture:
            return picture.width, picture.height, path.stat().st_size, picture.format or ""
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
