"""Plain values, as JSON holds them, to frozen dataclasses: every key and every type is checked."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from lond.errors import ConfigError

T = TypeVar("T")

_SHOWN = 60
"""Characters of a wrong value that a message shows."""


def from_plain(cls: type[T], content: Any, where: str = "") -> T:
    """Return a dataclass built from plain values; fields with a default may be missing.

    Args:
        cls: a dataclass of plain types, ``Path``, ``Literal``, tuples, mappings, unions and further dataclasses.
        content: what JSON gave.
        where: key path of the content with a dot at its end, for messages.

    Raises:
        ConfigError: a key is unknown or missing, or a value does not fit.
    """
    if not isinstance(content, Mapping):
        raise ConfigError(f"{where.rstrip('.') or 'the content'} must be a table, not {_shown(content)}")
    entries = _entries(cls)  # type: ignore[arg-type]  # a class is hashable
    for key in content:
        if key not in entries:
            raise unknown_key(f"{where}{key}", entries)
    for key, (_, required) in entries.items():
        if required and key not in content:
            raise ConfigError(f"{where}{key} is missing")
    return cls(**{key: convert(entries[key][0], value, f"{where}{key}") for key, value in content.items()})


def flat(nested: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return nested settings under dotted keys."""
    found: dict[str, Any] = {}
    for key, value in nested.items():
        found |= flat(value, f"{where}{key}.") if isinstance(value, Mapping) else {f"{where}{key}": value}
    return found


def unknown_key(key: str, known: Collection[str]) -> ConfigError:
    """Return the error for an unknown key (with its path), which names the most similar known one."""
    parent, dot, last = key.rpartition(".")
    close = difflib.get_close_matches(last, known, n=1)
    advice = f"did you mean {parent + dot + close[0]!r}?" if close else f"known: {', '.join(known)}"
    return ConfigError(f"unknown key {key!r}; {advice}")


def convert(hint: Any, value: Any, key: str) -> Any:
    """Return a plain value as the type that a hint asks for; lists become tuples, whole numbers real ones.

    Raises:
        ConfigError: it does not fit; the message names the key.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return from_plain(hint, value, f"{key}.")  # type: ignore[arg-type]  # a class: hints are never instances
    if origin in (Union, types.UnionType):
        return _convert_union(hint, value, key)
    if origin is Literal:
        if not any(value == option and type(value) is type(option) for option in inner):
            raise ConfigError(f"{key} is {_shown(value)}; choose one of {', '.join(map(str, inner))}")
        return value
    if origin is tuple:
        return _convert_tuple(inner, value, key)
    if origin in (Mapping, dict) and isinstance(value, Mapping):
        return {name: convert(inner[1], item, f"{key}.{name}") for name, item in value.items()}
    return _convert_scalar(hint, value, key)


@functools.cache
def _entries(cls: type[Any]) -> dict[str, tuple[Any, bool]]:
    """Return name -> type and whether it must be given."""
    hints, nothing = get_type_hints(cls), dataclasses.MISSING
    return {
        field.name: (hints[field.name], field.default is nothing and field.default_factory is nothing)
        for field in dataclasses.fields(cls)
        if field.init
    }


def _convert_union(hint: Any, value: Any, key: str) -> Any:
    if value is None and type(None) in get_args(hint):
        return None
    options = [option for option in get_args(hint) if option is not type(None)]
    for option in options:
        try:
            return convert(option, value, key)
        except ConfigError:
            if len(options) == 1:
                raise
    raise ConfigError(f"{key} is {_shown(value)}; it must be {hint}")


def _convert_tuple(inner: tuple[Any, ...], value: Any, key: str) -> tuple[Any, ...]:
    endless = Ellipsis in inner
    if not isinstance(value, list | tuple) or (not endless and len(value) != len(inner)):
        raise ConfigError(f"{key} is {_shown(value)}; it must be a list" + f" of {len(inner)} values" * (not endless))
    kinds = [inner[0]] * len(value) if endless else inner
    return tuple(convert(kind, item, f"{key}[{at}]") for at, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _convert_scalar(hint: Any, value: Any, key: str) -> Any:
    if hint is Path and isinstance(value, str):
        return Path(value)
    kind = get_origin(hint) or hint
    try:
        if hint is float and type(value) is int:
            return float(value)
        if isinstance(value, kind) and (hint is bool or not isinstance(value, bool)):
            return value
    except OverflowError:
        pass
    raise ConfigError(f"{key} is {_shown(value)}; it must be of type {getattr(kind, '__name__', kind)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
