"""Damaged versions of a file: what disks, transfers, editors and attackers do to it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

Damage = Callable[[bytes, random.Random], bytes]

HOSTILE: tuple[Any, ...] = (None, [], {}, "", -1, 0, 1e308, True, "x" * 300, "7" * 5000, [[[]]], {"a": {"b": None}})
"""Values that a JSON file may hold in place of others."""

CELLS = ("", "=1+1", "\x00", "7" * 5000, "nan", "-1", '"', "1,2", "é", "../../etc/passwd", "a" * 200_000)
"""Cells that a table may hold in place of others."""


def _cut(content: bytes, drawn: random.Random) -> bytes:
    return content[: drawn.randrange(len(content))]


def _flip(content: bytes, drawn: random.Random) -> bytes:
    changed = bytearray(content)
    changed[drawn.randrange(len(changed))] ^= 1 << drawn.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, drawn: random.Random) -> bytes:
    at, length = drawn.randrange(len(content)), drawn.randrange(1, 64)
    return content[:at] + drawn.randbytes(length) + content[at + length :]


def _insert(content: bytes, drawn: random.Random) -> bytes:
    at = drawn.randrange(len(content))
    return content[:at] + drawn.randbytes(drawn.randrange(1, 64)) + content[at:]


def _zeros(content: bytes, drawn: random.Random) -> bytes:
    at = drawn.randrange(len(content))
    return content[:at] + bytes(len(content) - at)


def _twice(content: bytes, drawn: random.Random) -> bytes:
    return content + content


def _other(content: bytes, drawn: random.Random) -> bytes:
    choices = (b"", b"null", b"[]", b"{}", b'{"a":' * 9000, b"PK\x03\x04", b"\x80\x04N.", b"text\n" * 9, bytes(4096))
    return drawn.choice(choices)


def _json_value(content: bytes, drawn: random.Random) -> bytes:
    """Replace, or take away, one value of a JSON file."""
    tree = json.loads(content)
    places = list(_places(tree))
    holder, key = drawn.choice(places) if places else (None, None)
    if holder is None:
        return b"null"
    if isinstance(holder, dict) and drawn.random() < 0.3:
        del holder[key]
    else:
        holder[key] = drawn.choice(HOSTILE)
    return json.dumps(tree).encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in parts:
        yield tree, key
        yield from _places(part)


def _csv_cell(content: bytes, drawn: random.Random) -> bytes:
    """Replace one cell of a table, its names of columns among them."""
    rows = [line.split(b",") for line in content.splitlines()]
    row = drawn.choice([rows[0], drawn.choice(rows)])
    row[drawn.randrange(len(row))] = drawn.choice(CELLS).encode()
    return b"\n".join(b",".join(row) for row in rows)


def _csv_column(content: bytes, drawn: random.Random) -> bytes:
    """Name a column twice, or take one away from some rows."""
    rows = [line.split(b",") for line in content.splitlines()]
    at = drawn.randrange(len(rows[0]))
    if drawn.random() < 0.5:
        rows[0][at] = rows[0][at - 1]
    else:
        rows = [row[:at] + row[at + 1 :] if drawn.random() < 0.5 else row for row in rows]
    return b"\n".join(b",".join(row) for row in rows)


ANY: tuple[Damage, ...] = (_cut, _flip, _flip, _overwrite, _insert, _zeros, _twice, _other)
JSON: tuple[Damage, ...] = (*ANY, _json_value, _json_value, _json_value, _json_value)
CSV: tuple[Damage, ...] = (*ANY, _csv_cell, _csv_cell, _csv_column)


def damaged(content: bytes, kinds: tuple[Damage, ...], seed: int) -> tuple[str, bytes]:
    """Return the name of a damage and what it makes of a file; the same for the same seed."""
    drawn = random.Random(seed)
    kind = kinds[seed % len(kinds)]
    try:
        return kind.__name__.strip("_"), kind(content, drawn)
    except (ValueError, IndexError):
        return "other", _other(content, drawn)
