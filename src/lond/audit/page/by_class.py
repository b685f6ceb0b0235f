"""Pages of a set too large for one: a sample on the first, all images on pages of some classes each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from lond.audit.page.columns import need_order
from lond.audit.page.write import ReviewPage, write_page
from lond.io.atomic import write_atomically
from lond.webpage.parts import render_page, safe_text

ONE_PAGE = 50_000
"""Images up to which all are on one page, and that a page of some classes holds at most unless a class has more."""

FOLDER = "classes"
"""Folder of the pages of classes, beside the first page."""

INDEX = "index.html"

OF_ALL_IMAGES = ("threshold", "wrong_threshold", "seen")
"""Parts of the summary that are true of every image, and so of every page."""


def write_pages(path: Path, page: ReviewPage, *, max_bytes: int) -> None:
    """Write the page; of a large set a sample, and beside it pages of all images by class with an index.

    Raises:
        DataError: the table of a page takes more than ``max_bytes``.
    """
    if len(page.table) <= ONE_PAGE:
        write_page(path, page, max_bytes=max_bytes)
        return
    note = f"this page shows {ONE_PAGE:,} of {len(page.table):,} images; {FOLDER}/{INDEX} leads to all, by class"
    notes = [note, *page.summary.get("notes", [])]
    write_page(path, replace(shown(page, sample(page)), summary={**page.summary, "notes": notes}), max_bytes=max_bytes)
    folder = path.parent / FOLDER
    folder.mkdir(exist_ok=True)
    links = []
    for number, (names, places) in enumerate(grouped(page), 1):
        name = f"{number:04}.html"
        part = shown(page, places)
        title = f"{page.title}: classes, page {number}"
        write_page(folder / name, replace(part, title=title, summary=_summary(part)), max_bytes=max_bytes)
        links += [(label, count, name) for label, count in names]
    write_atomically(folder / INDEX, _index(page.title, links))


def sample(page: ReviewPage) -> list[int]:
    """Return the places of ``ONE_PAGE`` images in order: half the neediest, half spread over the others."""
    order = need_order(page.table)
    first = ONE_PAGE // 2
    rest = sorted(order[first:])
    spread = [rest[at * len(rest) // (ONE_PAGE - first)] for at in range(ONE_PAGE - first)]
    return sorted([*order[:first], *spread])


def grouped(page: ReviewPage) -> list[tuple[list[tuple[str, int]], list[int]]]:
    """Return for each page of classes their names with numbers of images, and the places of these images in order."""
    members: dict[str, list[int]] = {name: [] for name in page.class_names}
    for place, label in enumerate(page.table.label):
        members.setdefault(label, []).append(place)
    found: list[tuple[list[tuple[str, int]], list[int]]] = []
    for label, places in members.items():
        if not places:
            continue
        if not found or len(found[-1][1]) + len(places) > ONE_PAGE:
            found.append(([], []))
        found[-1][0].append((label, len(places)))
        found[-1][1].extend(places)
    return [(names, sorted(places)) for names, places in found]


def shown(page: ReviewPage, places: Sequence[int]) -> ReviewPage:
    """Return the page of the images at some places."""
    positions = None if page.positions is None else [page.positions[place] for place in places]
    return replace(
        page,
        table=page.table.take(places),
        positions=positions,
        thumbnails=lambda row: page.thumbnails(places[row]),
    )


def _summary(part: ReviewPage) -> dict[str, Any]:
    labels = {*part.table.label}
    rates = [row for row in part.summary.get("rates", {}).get("by_class", []) if row["class"] in labels]
    counts = dict(Counter(part.table.verdict).most_common())
    same = {name: part.summary[name] for name in OF_ALL_IMAGES if name in part.summary}
    return {"images": len(part.table), "counts": counts, "rates": {"by_class": rates}} | same


def _index(title: str, links: list[tuple[str, int, str]]) -> bytes:
    rows = "".join(
        f'<tr><td><a href="{escape(name)}">{safe_text(label or "(no label)")}</a></td><td>{count:,}</td></tr>'
        for label, count, name in links
    )
    head = "<thead><tr><th>given label</th><th>images</th></tr></thead>"
    body = f"<main><h1>{safe_text(title)}</h1><table>{head}<tbody>{rows}</tbody></table></main>"
    return render_page(f"{title}: classes", body)
