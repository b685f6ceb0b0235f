"""Links between documents lead somewhere, and overviews and menu are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from lond.detect import DETECTORS
from lond.methods import METHODS

from .shown import ROOT, documents, prose, read

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]+)\"")


def links(file: str) -> list[str]:
    return [first or second for first, second in LINK.findall(prose(file))]


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("file", documents())
def test_links_lead_somewhere(file: str) -> None:
    wrong = []
    for link in links(file):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / file).parent / name if name else ROOT / file
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
        elif file.startswith("docs/") and (ROOT / "docs") not in target.resolve().parents:
            wrong.append(f"{link} (leaves the documentation's folder)")
    assert not wrong, f"{file}: {wrong}"


def table_names(file: str) -> set[str]:
    """Return the code words of the first column of a page's tables."""
    first = re.findall(r"^\| ([^|]*) \|", read(file), re.M)
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize(
    ("overview", "names"), [("docs/methods/README.md", METHODS), ("docs/detectors/README.md", DETECTORS)]
)
def test_overviews_are_complete(overview: str, names: dict[str, object]) -> None:
    assert table_names(overview) == set(names)
    pages = {path.name for path in (ROOT / overview).parent.glob("*.md")} - {"README.md"}
    assert pages == {link for link in links(overview) if "/" not in link}


def test_the_menu_names_every_page() -> None:
    # Tags of the theme's own (!!python/name and the like) are not used, so plain YAML reads it.
    menu = re.findall(r"[\w/-]+\.md", str(yaml.safe_load(read("mkdocs.yml"))["nav"]))
    assert sorted(menu) == sorted(file.removeprefix("docs/") for file in documents() if file.startswith("docs/"))
