"""What the documentation shows: its files, the blocks of code in them, and the commands in those."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<indent> *)(?P<mark>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)(?P=mark) *$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    file: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def documents() -> list[str]:
    """Return all Markdown files that a user reads, relative to the repository."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def blocks(file: str) -> list[Block]:
    text = read(file)
    return [
        Block(file, text.count("\n", 0, found.start()) + 2, found["language"].strip(), found["text"])
        for found in FENCE.finditer(text)
    ]


def prose(file: str) -> str:
    """Return a document without its blocks."""
    return FENCE.sub("", read(file))


def commands(block: Block) -> Iterator[list[str]]:
    """Yield the words of every command of a shell block; comments are dropped, continued lines joined."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words
