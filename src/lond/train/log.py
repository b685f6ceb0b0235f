"""The run's log: one JSON object an epoch, one epoch a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lond.io.atomic import append_text, write_atomically
from lond.io.json_files import json_line


class JsonLines:
    """A log that can be cut back to what a checkpoint knows."""

    def __init__(self, path: Path) -> None:
        """Write to ``path``."""
        self.path = path

    def restart(self, records: list[dict[str, Any]]) -> None:
        """Make the file hold just these records."""
        write_atomically(self.path, "".join(map(json_line, records)))

    def append(self, record: dict[str, Any]) -> None:
        """Add one record."""
        append_text(self.path, json_line(record))
