"""The audit's page: one HTML file without network, in which a person looks at the verdicts and decides on them."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from lond.audit.page.columns import encode_columns, encode_positions, need_order, plain_json, table_key
from lond.audit.page.copy_files import facts_of_copies
from lond.audit.page.sprites import SIDES, Sprites, make_sprites, no_sprites
from lond.audit.table import AuditTable
from lond.errors import DataError
from lond.io.atomic import write_atomically
from lond.webpage.parts import asset, fill, render_page

ROOM = "lond.audit.page"
"""Package with the page's assets."""

SCRIPTS = (
    "core", "glossary", "sprites", "seen_part", "groups", "copy_labels", "decisions", "answers", "why", "csv",
    "kept_view", "filters", "gallery", "label_choice", "selection", "detail", "copies", "map_points", "map_stamps",
    "map_moves", "map", "rates", "histogram", "overview", "page",
)  # fmt: skip
"""Parts of the page's script, in the order in which they build on each other."""

_SLACK = 4096
"""Bytes kept free for what is known only after the thumbnails are made."""


@dataclass(frozen=True)
class ReviewPage:
    """What the page shows about the N images of a table.

    ``summary`` is plain JSON and every part of it may be missing: ``images``, ``counts`` (verdict -> number),
    ``rates`` (``wrong`` and ``foreign``, each with ``estimate``, ``low`` and ``high``, and ``by_class``),
    ``confusions``, ``notes``, ``problems``, ``leaks``, ``settings``, ``seen`` (what part of a picture was judged).
    ``positions`` is a map, one point per row. ``thumbnails`` gives the small picture of a row, or None.
    """

    title: str
    table: AuditTable
    class_names: tuple[str, ...]
    summary: dict[str, Any]
    positions: list[tuple[float, float]] | None
    thumbnails: Callable[[int], Image.Image | None]
    commands: tuple[str, ...] = (
        "lond audit SOURCE --out audit --decisions decisions.csv",
        "lond apply audit --decisions decisions.csv --out corrected --write",
    )
    """What to run with decisions."""
    root: str = ""
    """Address of the folder that the table's paths start from (``file:///...``), for links to pictures; "": none."""
    folder: Path | None = None
    """The same folder on this disk, to look at the files of copies; None: there is none."""


@dataclass(frozen=True)
class PageSize:
    """What was written: the file's bytes, how many thumbnails it holds, and their longest side (0: none)."""

    bytes: int
    thumbnails: int
    side: int


def write_page(path: Path, page: ReviewPage, *, max_bytes: int = 40_000_000) -> PageSize:
    """Write the page, atomically.

    The thumbnails are as large as ``max_bytes`` allows; where even the smallest do not all fit, the images that
    most need a look get theirs first and the page says how many have none.

    Raises:
        DataError: the table alone takes more than ``max_bytes``.
        ValueError: there are not as many positions as rows.
    """
    if page.positions is not None and len(page.positions) != len(page.table):
        raise ValueError(f"{len(page.positions)} positions for {len(page.table)} images")
    payload = _payload(page, max_bytes)
    bare = len(_render(page.title, payload, no_sprites(len(page.table))))
    if bare + _SLACK > max_bytes:
        raise DataError(
            f"the page's table alone takes {bare / 1e6:.1f} MB of the {max_bytes / 1e6:.1f} MB allowed: "
            "allow a larger page or audit the images in parts"
        )
    sprites = make_sprites(need_order(page.table), page.thumbnails, budget=max_bytes - bare - _SLACK)
    content = _render(page.title, payload, sprites)
    write_atomically(path, content)
    return PageSize(len(content), sprites.count, sprites.side)


def _payload(page: ReviewPage, max_bytes: int) -> dict[str, Any]:
    return {
        "title": page.title,
        "key": table_key(page.table),
        "rows": len(page.table),
        "classes": len(page.class_names),
        "columns": encode_columns(page.table, page.class_names),
        "positions": None if page.positions is None else encode_positions(page.positions),
        "summary": page.summary,
        "commands": list(page.commands),
        "root": page.root,
        "files": facts_of_copies(page.table, page.folder),
        "bounds": {"bytes": max_bytes, "sides": list(SIDES)},
    }


def _render(title: str, payload: dict[str, Any], sprites: Sprites) -> bytes:
    script = _script()
    values = {
        "TITLE": html.escape(title),
        "DATA": plain_json(payload | {"sprites": sprites.description()}),
        "SCRIPT": script,
        "SHEETS": "\n".join(_sheet(number, sheet) for number, sheet in enumerate(sprites.sheets)),
    }
    return render_page(title, fill(asset(ROOM, "page.html"), values), style=asset(ROOM, "page.css"), script=script)


def _sheet(number: int, content: bytes) -> str:
    return f'<script type="text/plain" id="sheet-{number}">{base64.b64encode(content).decode()}</script>'


def _script() -> str:
    parts = "\n".join(asset(ROOM, f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();'
