"""Where the pictures of an exported audit lie."""

from __future__ import annotations

from pathlib import Path

from lond.io.csv_files import printable


def picture_path(path: str, root: Path | None) -> str:
    """Return the absolute path of a picture, with forward slashes."""
    return printable(((root or Path()) / path).absolute().as_posix())
