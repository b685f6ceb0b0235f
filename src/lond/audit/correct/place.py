"""Where a corrected set may be written: to a new place, or over an earlier corrected set."""

from __future__ import annotations

from pathlib import Path

from lond.data.read.folders import CLASS_TABLE
from lond.data.read.tables import CONFIRMED, CORRECTED
from lond.errors import DataError

CLASSES = CLASS_TABLE
"""File in a folder of links that says which folder holds which class."""


def check_place_of(save: Path, *, overwrite: bool = False) -> None:
    """Check that a corrected set may be written to a CSV file or folder: it is new or, with ``overwrite``, one before.

    Raises:
        DataError: it may not.
    """
    if save.suffix != ".csv":
        check_tree_place(save, overwrite=overwrite)
    elif save.exists() and not is_corrected(save):
        raise DataError(f"{save} exists; it may be the original, so choose another name or remove it")
    elif save.exists() and not overwrite:
        raise DataError(f"{save} holds a corrected set already; choose another name, or replace it with --overwrite")


def is_corrected(path: Path) -> bool:
    """Tell whether a file is a table that ``write_corrected_csv`` wrote, with or without confirmed labels."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return file.readline().rstrip("\r\n") in (",".join(CORRECTED), ",".join((*CORRECTED, CONFIRMED)))


def check_tree_place(folder: Path, *, overwrite: bool = False) -> None:
    """Check that a tree may be written to a folder: it is new or empty or, with ``overwrite``, an earlier tree.

    Earlier trees are known by their table of class folders, ``CLASSES``.

    Raises:
        DataError: it may not.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; choose a new folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / CLASSES).is_file():
        raise DataError(f"{folder} is not empty, and no corrected set; choose a new folder")
    if not overwrite:
        raise DataError(f"{folder} holds a corrected set already; choose a new folder, or replace it with --overwrite")
