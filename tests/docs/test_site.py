"""The documentation's site builds without a warning, offline, and loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .shown import ROOT

NEEDED = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name.partition(".")[0]) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"no {', '.join(MISSING)}: pip install 'lond[docs]' to test the site"
)

LOADS = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*>"
    r"|<link\b(?![^>]*\brel=[\"']?(?:canonical|next|prev)\b)[^>]*\bhref=[\"']?(?:https?:)?//[^>]*>"
)
"""Tags by which a page would load something from elsewhere."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    # A proxy that leads nowhere: building must not need the network.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    wrong = [f"{page.relative_to(site)}: {found}" for page in pages for found in LOADS.findall(page.read_text("utf-8"))]
    sheets = [
        path
        for path in site.rglob("*.css")
        if re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", path.read_text("utf-8"))
    ]
    assert not wrong + sheets


@pytest.mark.parametrize(
    "name", ["lond", "audit", "detect", "evaluate", "identify", "losses", "methods", "paper", "runs"]
)
def test_the_reference_describes_every_class_and_function(site: Path, name: str) -> None:
    import importlib

    module = importlib.import_module("lond" if name == "lond" else f"lond.{name}")
    page = (site / "reference" / f"{name}.html").read_text("utf-8")
    # Plain values need no description.
    public = [one for one in module.__all__ if callable(getattr(module, one))]
    # A function that is named like its file stands on the page under the file's name.
    missing = [one for one in public if not re.search(rf'id="{module.__name__}\.(\w+\.)?{one}"', page)]
    assert not missing


def test_files_of_the_root_are_pages(site: Path) -> None:
    assert "Unreleased" in (site / "changelog.html").read_text("utf-8")
    assert "make test" in (site / "contributing.html").read_text("utf-8")


def test_equations_are_marked_for_rendering(site: Path) -> None:
    page = (site / "methods" / "lond_drs.html").read_text("utf-8")
    assert [int(number) for number in re.findall(r"\\tag\{(\d+)\}", page)] == list(range(1, 16))
    plain = [
        path.name
        for folder in ("methods", "detectors")
        for path in sorted((site / folder).glob("*.html"))
        if path.name != "index.html" and 'class="arithmatex"' not in path.read_text("utf-8")
    ]
    assert not plain, f"these pages show no equation: {plain}"


@pytest.mark.slow
def test_a_browser_asks_for_nothing_from_elsewhere(site: Path, browser: Any) -> None:
    asked: list[str] = []
    faults: list[str] = []
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    for name in ("index", "tutorial", "methods/lond_drs", "reference/lond", "results"):
        page.goto((site / f"{name}.html").as_uri())
        # A wide table scrolls by itself; the page does not.
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    for path in sorted(site.rglob("*.html")):
        if marked := path.read_text("utf-8").count('class="arithmatex"'):
            page.goto(path.as_uri())
            assert page.locator(".arithmatex .katex").count() == marked, path.name
            assert not page.locator(".katex-error").count(), path.name
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input")
    page.locator(".md-search__input").press_sequentially("margin")
    # The search runs from disk, too.
    page.wait_for_selector(".md-search-result__item")
    page.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not faults
