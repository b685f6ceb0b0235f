"""Let the disk be full at every single write of a command: one line, nothing lost, and the same end afterwards."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.torture.world import Command

from lond import cli
from lond.io import atomic
from lond.train import log

ONE_PROCESS = ("train", "audit")
"""Commands that write in the process that is watched."""


@dataclass(frozen=True)
class Write:
    """A command whose ``number``-th write met a full disk."""

    command: str
    number: int
    what: str
    told: bool
    """Whether it ended with exit code 2 and one line that names the reason."""
    equal: bool
    """Whether the same command, with room again, ended as if nothing had been."""
    problem: str = ""


class Disk:
    """A disk that is full at one write, or at none (0)."""

    def __init__(self, full_at: int) -> None:
        """Count writes from 1."""
        self.full_at, self.writes, self.what = full_at, 0, ""

    def take(self, what: Path) -> None:
        """Count a write; raise what the system raises if the disk is full.

        What is tried again after room was made is the same write, and finds the disk still full.
        """
        if self.what and what.name.split(".")[0] == self.what.split(".")[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.writes += 1
        if self.writes == self.full_at:
            self.what = what.name
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def watched(disk: Disk) -> Iterator[None]:
    """Let every file that is written go over a disk; half of what meets a full one is written."""
    write, append = atomic._write, log.append_text

    def half(place: Path, content: Any) -> None:
        try:
            disk.take(place)
        except OSError:
            place.write_bytes(b"half a fi")
            raise
        write(place, content)

    def add(path: Path, text: str) -> None:
        with atomic.told_in_one_line(path):
            disk.take(path)
        append(path, text)

    atomic._write, log.append_text = half, add
    try:
        yield
    finally:
        atomic._write, log.append_text = write, append


def call(command: Command, folder: Path) -> tuple[int, str]:
    """Run a command in this process; return exit code and error output."""
    before, words = sys.argv, io.StringIO()
    sys.argv = ["lond", *command.arguments, "--out", str(folder)]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(words):
            cli.main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = before
    return code, words.getvalue()


def fill_at(command: Command, number: int, uncut: Any, folder: Path) -> Write:
    """Let the ``number``-th write of a command meet a full disk, then make room and start it again."""
    shutil.rmtree(folder, ignore_errors=True)
    disk = Disk(number)
    try:
        with watched(disk):
            code, words = call(command, folder)
        lines = [line for line in words.splitlines() if "error:" in line]
        told = code == 2 and len(lines) == 1 and "disk is full" in lines[0]
        again, more = call(command, folder)
        equal = again == 0 and command.answer(folder) == uncut
        leftovers = [path.name for path in folder.rglob("*.tmp")]
        problem = "" if told and equal else f"{words[-300:]} | {more[-300:]}"
        return Write(command.name, number, disk.what, told, equal and not leftovers, problem or " ".join(leftovers))
    except Exception as error:  # whatever it is, it is what a user would see as a trace
        return Write(command.name, number, disk.what, False, False, f"{type(error).__name__}: {error}"[:500])


def torture(commands: list[Command], folder: Path, step: int = 1) -> dict[str, Any]:
    """Fill the disk at every ``step``-th write of the commands; return what happened."""
    found: list[Write] = []
    for command in commands:
        if command.name not in ONE_PROCESS:
            continue
        disk = Disk(0)
        with watched(disk):
            code, words = call(command, folder / "uncut" / command.name)
        assert code == 0, words
        uncut = command.answer(folder / "uncut" / command.name)
        numbers = range(1, disk.writes + 1, step)
        found += [fill_at(command, number, uncut, folder / "full") for number in numbers]
    return {
        "writes": len(found),
        "told_in_one_line": sum(write.told for write in found),
        "equal_ends": sum(write.equal for write in found),
        "list": [asdict(write) for write in found if not (write.told and write.equal)],
    }
