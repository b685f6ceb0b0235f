"""The page under axe-core, the accessibility checker; it comes from npm and is skipped, and says so, where missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["overview", "review", "copies", "map", "about"])
def test_no_serious_finding(visit: Any, usual: Path, axe: str, tab: str, scheme: str) -> None:
    seen = visit(usual, tab, color_scheme=scheme, bypass_csp=True)
    page = seen.page
    if tab == "review":
        seen.choose(0)
        page.click("#select-shown")
    page.wait_for_timeout(400)
    page.evaluate(axe)
    found = page.evaluate("async () => (await axe.run()).violations")
    serious = [
        (each["id"], node["html"][:160], node["failureSummary"][:300])
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
    assert serious == []


@pytest.mark.parametrize("dialog", ["help", "bulk", "decisions"])
def test_no_serious_finding_in_a_dialog(visit: Any, usual: Path, axe: str, dialog: str) -> None:
    seen = visit(usual, "review", bypass_csp=True)
    seen.page.click(f"#open-{dialog}")
    seen.page.evaluate(axe)
    found = seen.page.evaluate(f"async () => (await axe.run('#{dialog}')).violations")
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
