"""Write a file so that a reader, or a process killed at any moment, finds the old content or the new, never half."""

from __future__ import annotations

import errno
import itertools
import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lond.errors import DataError, FullDiskError

STALE = 3600.0
"""Seconds after which a temporary file is taken for one that a killed process left."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says where there is no room."""

YOUNG = 60.0
"""Seconds for which the file of a process that is no more is left alone, unless its room is needed."""

_HOST = re.sub(r"[^0-9A-Za-z]", "", platform.node())[:16]
_OWN = re.compile(rf"\.{_HOST}-(\d+)-\d+\.tmp")
_ANY = re.compile(r"\.[0-9A-Za-z]*-\d+-\d+\.tmp$")
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
    with told_in_one_line(path):
        if special:
            _write(path, content)
        else:
            _write_beside(path.resolve(), content)


def is_unfinished(path: Path) -> bool:
    """Tell whether a file is what a killed process left of one that it was writing."""
    return _ANY.search(path.name) is not None


def append_text(path: Path, text: str) -> None:
    """Add to the end of a text file; a process killed meanwhile, or a full disk, may leave half of it.

    Raises:
        DataError: the disk is full, a permission is missing or the like.
    """
    with told_in_one_line(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def told_in_one_line(path: Path) -> Iterator[None]:
    """Turn a system error about writing a file or folder into one that says what to do.

    Raises:
        FullDiskError: there is no room.
        DataError: a permission is missing or the like.
    """
    try:
        yield
    except BaseException as error:
        code = _code(error)
        if code is None:
            raise
        kind = FullDiskError if code in FULL else DataError
        raise kind(f"{path} cannot be written: {_ADVICE.get(code) or os.strerror(code)}") from error


def _write_beside(target: Path, content: str | bytes | Callable[[Path], object]) -> None:
    _remove_leftovers(target, YOUNG)
    try:
        _write_and_move(target, content)
    except Exception as error:
        # What a process left that was killed a moment ago may be just the room that is missing.
        if _code(error) not in FULL or not _remove_leftovers(target, 0):
            raise
        _write_and_move(target, content)


def _write_and_move(target: Path, content: str | bytes | Callable[[Path], object]) -> None:
    place = _free_place(target)
    try:
        _write(place, content)
        _to_disk(place)
        place.replace(target)
    except BaseException:
        with suppress(OSError):
            place.unlink(missing_ok=True)
        raise


def _free_place(target: Path) -> Path:
    """Return a name beside a file that no other process uses, and that nothing has yet."""
    for number in itertools.count():
        place = target.with_name(f"{target.name}.{_HOST}-{os.getpid()}-{number}.tmp")
        if not os.path.lexists(place):
            return place
    raise AssertionError


def _write(place: Path, content: str | bytes | Callable[[Path], object]) -> None:
    if callable(content):
        content(place)
    else:
        place.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def _to_disk(place: Path) -> None:
    with place.open("rb+") as file:
        os.fsync(file.fileno())


def _remove_leftovers(target: Path, young: float) -> bool:
    """Remove what killed processes left of earlier attempts at the same file; tell whether there was any.

    A file of a process of this machine that is no more is one, unless it is younger than ``young`` seconds: the same
    name may mean another machine. Any other is one if nobody has written to it for long.
    """
    removed = False
    with suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            if not (entry.name.startswith(f"{target.name}.") and entry.name.endswith(".tmp")):
                continue
            # Another process may be writing the same file now, or may just have moved its own.
            with suppress(OSError):
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if age > STALE or (age >= young and _is_of_the_dead(entry.name[len(target.name) :])):
                    os.unlink(entry.path)
                    removed = True
    return removed


def _is_of_the_dead(ending: str) -> bool:
    """Tell whether the end of a temporary name is that of a process of this machine that has ended."""
    found = _OWN.fullmatch(ending)
    if found is None or os.name != "posix":
        return False
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _code(error: BaseException) -> int | None:
    """Return the system's number of an error, also from libraries that only mention it in their message."""
    if isinstance(error, OSError):
        return error.errno
    found = _CODE.search(str(error)) if isinstance(error, Exception) else None
    return int(found[1]) if found else None
