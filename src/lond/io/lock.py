"""Let one process at a time work in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lond.errors import ConfigError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(folder: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a folder; the system lets go of a killed process's lock. On Windows nothing is locked.

    Args:
        folder: an existing folder.
        busy: what to tell the user if another process holds it; None = wait for that process.

    Raises:
        ConfigError: another process holds the folder, with ``busy`` as its text.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if busy is None else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise ConfigError(busy) from error
        yield
    finally:
        os.close(handle)
