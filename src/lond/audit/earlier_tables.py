"""Tables of earlier audits in the same folder, kept when a new one takes their place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lond.audit.saved import PAGE, SUMMARY, table_of

EARLIER = "earlier"
"""Folder, within that of an audit, of the tables that were there before: ``earlier/1`` is the oldest."""


LARGE = 20_000_000
"""Bytes of a page beyond which it is not kept."""


def kept_tables(folder: Path) -> list[Path]:
    """Return the folders of the earlier tables in the folder of an audit, oldest first."""
    found = [place for place in (folder / EARLIER).glob("*") if place.name.isdigit()]
    return sorted(found, key=lambda place: int(place.name))


@contextmanager
def keeping_earlier(folder: Path) -> Iterator[None]:
    """Keep table, summary and page of the audit in a folder while another is written, and for good if that differs.

    A page of more than ``LARGE`` bytes is not kept.
    """
    table = table_of(folder)
    if table == folder:
        yield
        return
    before = kept_tables(folder)
    kept = folder / EARLIER / str(int(before[-1].name) + 1 if before else 1)
    kept.mkdir(parents=True)
    page = folder / PAGE
    pages = (page,) if page.is_file() and page.stat().st_size <= LARGE else ()
    for path in (table, folder / SUMMARY, *pages):
        if path.is_dir():
            shutil.copytree(path, kept / path.name)
        elif path.is_file():
            shutil.copy2(path, kept / path.name)
    yield
    if _contents(table) == _contents(kept / table.name):
        shutil.rmtree(kept)
        if not before:
            kept.parent.rmdir()


def told_kept(kept: Path) -> str:
    """Return in a line where an earlier table is, and whether its page is there, too."""
    limit = f"{LARGE / 1e6:.0f} MB"
    page = "with its page" if (kept / PAGE).is_file() else f"without a page: there was none, or one above {limit}"
    return f"earlier table: {kept} (what this folder held before, {page}; the new table differs)"


def _contents(table: Path) -> dict[str, bytes]:
    """Return name -> content of a table's files; empty if it is not there any more."""
    files = sorted(table.iterdir()) if table.is_dir() else [table] if table.is_file() else []
    return {path.name: path.read_bytes() for path in files}
