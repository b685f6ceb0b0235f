"""Write a file so that a reader, or a process killed at any moment, finds the old content or the new, never half."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from lond.errors import DataError

STALE = 3600.0
"""Seconds after which a temporary file is taken for one that a killed process left."""

_CODE = re.compile(r"\(os error (\d+)\)")
_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space and start again",
    errno.EDQUOT: "your quota is used up; free some space and start again",
    errno.EACCES: "no permission; choose another place",
    errno.EPERM: "no permission; choose another place",
    errno.EROFS: "the disk is read-only; choose another place",
    errno.ENOENT: "there is no such folder; make it first",
    errno.EISDIR: "it is a folder; name a file",
}


def write_atomically(path: Path, content: str | bytes | Callable[[Path], object]) -> None:
    """Write a file beside its place, let the disk take it, and move it there.

    A link stays a link to the new content; what is no regular file (a pipe, a terminal) is written to directly.

    Args:
        path: file to write; its folder must be there.
        content: text (written as UTF-8), bytes, or a function that writes them to the path it is given.

    Raises:
        DataError: the disk is full, a permission is missing or the like; the old content is untouched.
    """
    special = path.exists() and not path.is_file()
    target = path if special else path.resolve()
    place = path if special else target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        _write(place, content)
        if not special:
            _remove_stale(target)
            _to_disk(place)
            place.replace(target)
    except BaseException as error:
        if not special:
            place.unlink(missing_ok=True)
        code = _code(error)
        if code is None:
            raise
        raise DataError(f"{path} cannot be written: {_ADVICE.get(code) or os.strerror(code)}") from error


def _write(place: Path, content: str | bytes | Callable[[Path], object]) -> None:
    if callable(content):
        content(place)
    else:
        place.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def _to_disk(place: Path) -> None:
    with place.open("rb+") as file:
        os.fsync(file.fileno())


def _remove_stale(target: Path) -> None:
    """Remove what killed processes left of earlier attempts at the same file."""
    for entry in os.scandir(target.parent):
        if entry.name.startswith(f"{target.name}.") and entry.name.endswith(".tmp"):
            # Another process may be writing the same file now, or may just have moved its own.
            try:
                if time.time() - entry.stat().st_mtime > STALE:
                    os.unlink(entry.path)
            except OSError:
                continue


def _code(error: BaseException) -> int | None:
    """Return the system's number of an error, also from libraries that only mention it in their message."""
    if isinstance(error, OSError):
        return error.errno
    found = _CODE.search(str(error)) if isinstance(error, Exception) else None
    return int(found[1]) if found else None
