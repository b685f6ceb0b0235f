"""Hooks of MkDocs: files of the repository's root as pages of the site, with their links turned to where pages are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

SHOWN = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
"""Page -> file of the root that it shows."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page, or of the file that it stands for; called by MkDocs for every page."""
    name = SHOWN.get(page.file.src_uri)
    return markdown if name is None else as_page((ROOT / name).read_text(encoding="utf-8"))


def as_page(text: str) -> str:
    """Return the text of a file of the root with links that start in ``docs``.

    Examples:
        >>> as_page("[methods](docs/methods/README.md)")
        '[methods](methods/README.md)'
    """
    return text.replace("](docs/", "](")
