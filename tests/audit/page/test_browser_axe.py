"""The page under axe-core, the accessibility checker; it comes from npm and is skipped, and says so, where missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import make_page

from lond.audit.page.write import write_page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
PLACES = (os.environ.get("AXE_CORE", ""), str(ROOT / "node_modules" / "axe-core"))
"""Folders in which the package axe-core is looked for."""


@pytest.fixture(scope="module")
def axe() -> str:
    for place in PLACES:
        script = Path(place) / "axe.min.js"
        if place and script.is_file():
            return script.read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed: npm install axe-core here, or name its folder in AXE_CORE")


def serious_findings(page: Any, axe: str) -> list[tuple[str, str, str]]:
    """Return rule, element and advice of what axe-core finds serious on a page."""
    page.wait_for_timeout(400)
    page.evaluate(axe)
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        (each["id"], node["html"][:160], node["failureSummary"][:300])
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["overview", "review", "copies", "map", "about"])
def test_no_serious_finding(visit: Any, usual: Path, axe: str, tab: str, scheme: str) -> None:
    seen = visit(usual, tab, color_scheme=scheme, bypass_csp=True)
    page = seen.page
    if tab == "review":
        seen.choose(0)
        page.click("#select-shown")
    assert serious_findings(page, axe) == []


def test_no_serious_finding_among_a_thousand_images(visit: Any, tmp_path: Path, axe: str) -> None:
    write_page(tmp_path / "page.html", make_page(1_000))
    seen = visit(tmp_path / "page.html", "review", bypass_csp=True)
    seen.page.click("#show-all")
    seen.choose(0)
    seen.page.click("#select-shown")
    assert serious_findings(seen.page, axe) == []


@pytest.mark.parametrize("dialog", ["help", "bulk", "decisions"])
def test_no_serious_finding_in_a_dialog(visit: Any, usual: Path, axe: str, dialog: str) -> None:
    seen = visit(usual, "review", bypass_csp=True)
    seen.page.click(f"#open-{dialog}")
    seen.page.evaluate(axe)
    found = seen.page.evaluate(f"async () => (await axe.run('#{dialog}')).violations")
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
