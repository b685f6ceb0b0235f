"""JSON files: strict values, written atomically; whatever is wrong with one is told in a line."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lond.errors import DamagedFileError, DataError
from lond.io.atomic import write_atomically

SEAL = "sha256"
"""Entry of a sealed file: the hash of all others."""

DEEPEST = 64
"""Most lists and objects that may lie in one another; what walks through them later calls itself as often."""


def plain(value: Any) -> Any:
    """Return a JSON-ready copy: NaN and infinities become None, paths strings, tuples lists, keys strings."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, indented, atomically."""
    write_atomically(path, json.dumps(plain(content), indent=2, ensure_ascii=False) + "\n")


def json_line(content: Any) -> str:
    """Return one line of a file of JSON objects."""
    return json.dumps(plain(content), ensure_ascii=False) + "\n"


def parse_object(text: str, *, constants: bool = False) -> dict[str, Any]:
    """Return the JSON object that a text is.

    Args:
        text: any text.
        constants: whether NaN and Infinity, which are not JSON, may be in it.

    Raises:
        DataError: it is none; the message begins with "damaged" and names no file.
    """
    try:
        content = json.loads(text) if constants else json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as error:
        raise DataError("damaged (nested too deeply)") from error
    except ValueError as error:
        raise DataError(f"damaged ({error})") from error
    if _depth_exceeds(content, DEEPEST):
        raise DataError("damaged (nested too deeply)")
    if not isinstance(content, dict):
        raise DataError(f"damaged ({'null' if content is None else type(content).__name__} in place of an object)")
    return content


def load_object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
        DataError: the file cannot be read; the message names no file, for callers that do.
    """
    return parse_object(_text(path))


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
        DataError: the file is missing, unreadable or damaged.
    """
    try:
        return load_object(path)
    except DataError as error:
        raise DataError(f"{path} is {error}") from error


def write_sealed_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, atomically, with a hash of its content, which ``read_sealed_json`` checks."""
    write_json(path, {**content, SEAL: _seal(content)})


def read_sealed_json(path: Path) -> dict[str, Any]:
    """Return what ``write_sealed_json`` was given; a file without a hash, as version 0.1.0 wrote it, is only read.

    Raises:
        DamagedFileError: the content is not what was written.
        DataError: the file is missing, unreadable or damaged.
    """
    content = read_json(path)
    seal = content.pop(SEAL, None)
    if seal is not None and seal != _seal(content):
        raise DamagedFileError(f"{path} is damaged (its content is not what was written)")
    return content


def _seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain(content), sort_keys=True).encode()).hexdigest()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a file that holds one per line.

    Raises:
        DataError: the file is missing, unreadable or damaged.
    """
    number = 0
    try:
        objects = []
        for number, line in enumerate(_text(path).splitlines(), 1):  # noqa: B007 - named in the message
            objects.append(parse_object(line))
    except DataError as error:
        raise DataError(f"{path} is {error}" + (f", line {number}" if number else "")) from error
    return objects


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"unreadable ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise DataError("unreadable (not UTF-8 text)") from error


def _depth_exceeds(content: Any, deepest: int) -> bool:
    """Return whether lists and objects are nested more deeply than a limit."""
    level = [content]
    for _ in range(deepest):
        level = [
            part
            for whole in level
            if isinstance(whole, dict | list)
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not level:
            return False
    return True


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
