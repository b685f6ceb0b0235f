"""Records to and from JSON text: strict both ways, one line an entry."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from lond.errors import ConfigError, DataError
from lond.io.json_files import plain
from lond.io.plain_values import from_plain
from lond.results.records import SCHEMA, Record


def to_text(record: Record) -> str:
    """Return a record as JSON; what is not finite becomes null."""
    content = {"schema": record.schema, "name": record.name, **asdict(record)}
    lines = [f" {json.dumps(key)}: {json.dumps(plain(value), allow_nan=False)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_object(content: dict[str, Any]) -> Record:
    """Return the record that ``to_text`` wrote as a JSON object.

    Raises:
        DataError: it is of another schema, or an entry is missing, unknown or of the wrong type.
    """
    if "schema" not in content:
        raise DataError("not a record of a run")
    if content["schema"] != SCHEMA:
        raise DataError(f"of schema {content['schema']!r}; this version of lond reads {SCHEMA}")
    try:
        record = from_plain(Record, {key: value for key, value in content.items() if key != "name"})
    except ConfigError as error:
        raise DataError(f"damaged ({error})") from error
    for name, curve in record.curves.items():
        if len(curve) != record.epochs:
            raise DataError(f"curves.{name} has {len(curve)} values for {record.epochs} epochs")
    return record
