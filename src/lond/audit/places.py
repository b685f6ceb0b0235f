"""Where the files of an audited set lie: the folder it was read from, and the path of every image below it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lond.data.read.files import FilePixels, lies_outside, relative_name
from lond.data.read.tables import TABLE_SUFFIXES
from lond.types import Samples

TRIED = 50
"""Paths of which one must lead to a file."""


def folder_of_source(source: object) -> Path | None:
    """Return the folder of an audited source: itself, or that of a table of paths; None if it is not there.

    Examples:
        >>> folder_of_source("nowhere/photos.csv") is None
        True
    """
    if not isinstance(source, str) or not source:
        return None
    place = Path(source)
    if place.is_dir():
        return place
    return place.parent if place.suffix.lower() in TABLE_SUFFIXES and place.is_file() else None


def paths_of(samples: Samples) -> tuple[str, ...]:
    """Return the path of every image below the folder of its source, absolute if it lies elsewhere.

    Where the source has no folder (a list, a data frame), paths are as they were given. Images that lie in no files of
    their own (arrays, archives, boxes) are named by their ids.
    """
    if not isinstance(samples.pixels, FilePixels):
        return samples.ids
    root = folder_of_source(samples.origin)
    return tuple(_below(path, root) for path in samples.pixels.paths)


def _below(path: str, root: Path | None) -> str:
    return relative_name(os.path.abspath(path) if root is not None and lies_outside(path, root) else path, root)


def address_of_pictures(source: object, paths: Sequence[str]) -> str:
    """Return the address of the folder that paths start from, as ``file:///...``; "" if they lead to no files in it."""
    root = folder_of_source(source)
    if root is None or not any(path and (root / path).is_file() for path in paths[:TRIED]):
        return ""
    return root.resolve().as_uri()
