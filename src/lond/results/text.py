"""Records to and from JSON text: strict both ways, one line an entry."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lond.errors import DataError
from lond.results.records import SCHEMA, Record


def to_text(record: Record) -> str:
    """Return a record as JSON; what is not finite becomes null."""
    content = {"schema": record.schema, "name": record.name, **asdict(record)}
    lines = [f" {json.dumps(key)}: {json.dumps(finite(value), allow_nan=False)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_text(text: str) -> Record:
    """Read what ``to_text`` wrote.

    Raises:
        DataError: it is no JSON, of another schema, or an entry is missing, unknown or of the wrong type.
    """
    try:
        content = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise DataError(f"damaged ({error})") from error
    if not isinstance(content, dict) or "schema" not in content:
        raise DataError("not a record of a run")
    if content["schema"] != SCHEMA:
        raise DataError(f"of schema {content['schema']!r}; this version of lond reads {SCHEMA}")
    content.pop("name", None)
    record: Record = _object(Record, content, "")
    for name, curve in record.curves.items():
        if len(curve) != record.epochs:
            raise DataError(f"curves.{name} has {len(curve)} values for {record.epochs} epochs")
    return record


def finite(value: Any) -> Any:
    """Return a copy of nested plain values in which NaN and infinities are None."""
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _object(cls: type[Any], content: Any, where: str) -> Any:
    if not isinstance(content, dict):
        raise DataError(f"{where.rstrip('.') or 'the record'} is not an object")
    known = {entry.name: entry for entry in fields(cls)}
    hints = get_type_hints(cls)
    for key in content:
        if key not in known:
            raise DataError(f"{where}{key} is unknown")
    for key, entry in known.items():
        if key not in content and entry.default is MISSING and entry.default_factory is MISSING:
            raise DataError(f"{where}{key} is missing")
    return cls(**{key: _value(hints[key], value, f"{where}{key}") for key, value in content.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    if is_dataclass(hint) and isinstance(hint, type):
        return _object(hint, value, f"{where}.")
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return (
            None
            if value is None
            else _value(next(option for option in inner if option is not type(None)), value, where)
        )
    if origin is Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_value(inner[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: _value(inner[1], item, f"{where}.{key}") for key, item in value.items()}
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint in (int, str) and type(value) is hint:
        return value
    raise DataError(f"{where} is {json.dumps(value)[:60]}, which does not fit")
