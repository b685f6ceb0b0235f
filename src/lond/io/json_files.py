"""JSON files: strict values, written atomically; whatever is wrong with one is told in a line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lond.errors import DataError
from lond.io.atomic import write_atomically


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


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object that a text is.

    Raises:
        DataError: it is none; the message begins with "damaged" and names no file.
    """
    try:
        content = json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise DataError("damaged (nested too deeply)") from error
    except ValueError as error:
        raise DataError(f"damaged ({error})") from error
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


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
