"""What an audit found, to look at, to work with and to write down."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from lond.audit.page import Page, write_page
from lond.audit.table import AuditTable, write_csv, write_parquet
from lond.errors import MissingDependencyError
from lond.train.log import write_json

PAGE = "audit.html"


@dataclass(frozen=True)
class Audit:
    """What an audit found: a table of all images, a summary, a map, and access to the pictures."""

    title: str
    table: AuditTable
    class_names: tuple[str, ...]
    summary: dict[str, Any]
    positions: list[tuple[float, float]] | None
    thumbnail: Callable[[int], Image.Image | None]

    def save(self, folder: Path, *, max_page_bytes: int = 40_000_000) -> list[Path]:
        """Write ``audit.csv``, ``audit.parquet`` (if pyarrow is installed), ``summary.json`` and ``audit.html``."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / name for name in ("audit.csv", "summary.json")]
        write_csv(paths[0], self.table)
        write_json(paths[1], self.summary)
        with suppress(MissingDependencyError):
            write_parquet(folder / "audit.parquet", self.table)
            paths.append(folder / "audit.parquet")
        page = Page(self.title, self.table, self.class_names, self.summary, self.positions, self.thumbnail)
        write_page(folder / PAGE, page, max_bytes=max_page_bytes)
        return [*paths, folder / PAGE]
