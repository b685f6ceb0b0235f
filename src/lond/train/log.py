"""The run's log: one JSON object an epoch, one epoch a line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def plain(value: Any) -> Any:
    """Return a JSON-ready copy: NaN and infinities become null, paths strings, tuples lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, indented, atomically."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(plain(content), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a log, epoch by epoch."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class JsonLines:
    """A log that can be cut back to what a checkpoint knows."""

    def __init__(self, path: Path) -> None:
        """Write to ``path``."""
        self.path = path

    def restart(self, records: list[dict[str, Any]]) -> None:
        """Make the file hold just these records."""
        lines = [json.dumps(plain(record), ensure_ascii=False) + "\n" for record in records]
        temporary = self.path.with_name(self.path.name + ".tmp")
        temporary.write_text("".join(lines), encoding="utf-8")
        temporary.replace(self.path)

    def append(self, record: dict[str, Any]) -> None:
        """Add one record."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain(record), ensure_ascii=False) + "\n")
