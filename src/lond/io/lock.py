"""Let one process at a time work in a folder, also among the machines that share its disk."""

from __future__ import annotations

import errno
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lond.errors import ConfigError
from lond.io.atomic import told_in_one_line

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
"""File in a folder that is locked with it, and stays: NFS hands locks of files to other machines, not of folders."""

UNKNOWN = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""What a disk says that knows no locks."""

READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def locked(folder: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a folder; the system lets go of a killed process's lock. On Windows nothing is locked.

    A disk that machines share lets go of the lock of a machine that died: NFS 4 when its lease runs out.

    Args:
        folder: an existing folder.
        busy: what to tell the user if another process holds it; None = wait for that process.

    Raises:
        ConfigError: another process holds the folder, with ``busy`` as its text.
        DataError: the disk is full.
    """
    if fcntl is None:
        yield
        return
    with ExitStack() as handles:
        handle = os.open(folder, os.O_RDONLY)
        handles.callback(os.close, handle)
        _lock(handle, busy)
        file = _lock_file(folder)
        if file is not None:
            handles.callback(os.close, file)
            try:
                _lock(file, busy)
            except OSError as error:
                if error.errno not in UNKNOWN:
                    raise
                warnings.warn(f"the disk of {folder} locks no files: start no other machine on it", stacklevel=3)
        yield


def wait_until_free(folder: Path, seconds: float, every: float = 0.5) -> bool:
    """Wait until no process holds a folder, at most for some seconds; tell whether it is free."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(ConfigError), locked(folder, "held"):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(every)


def _lock(handle: int, busy: str | None) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if busy is None else fcntl.LOCK_NB))
    except BlockingIOError as error:
        raise ConfigError(busy) from error


def _lock_file(folder: Path) -> int | None:
    """Open the file to lock, for writing as NFS demands it; None where nothing can be written."""
    path = folder / LOCK
    with told_in_one_line(path):
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise
    return None
