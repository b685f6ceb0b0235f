"""The review page at many images: how large it is, how fast it opens, what memory it takes, how long a selection takes.

Run as ``python -m benchmarks.page_size --out results/page_size.json``; needs playwright and chromium.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.store import machine, store

from lond.audit.page.write import write_page
from lond.errors import MissingDependencyError

SELECTED = "document.querySelector('#selection-text').textContent"


def measure(browser: Any, images: int, folder: Path) -> dict[str, Any]:
    """Write a page of so many made-up images, open it, select and decide."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from audit.page.page_samples import make_page

    path = folder / f"page{images}.html"
    started = time.perf_counter()
    # As large as the thumbnails that audits keep; the page shrinks them where they are many.
    size = write_page(path, make_page(images, side=192))
    found: dict[str, Any] = {"images": images, "bytes": size.bytes, "thumbnail_side": size.side}
    found["seconds_to_write"] = time.perf_counter() - started
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    started = time.perf_counter()
    page.goto(f"{path.as_uri()}#review")
    page.wait_for_selector("html[data-ready]")
    found["seconds_to_open"] = time.perf_counter() - started
    devtools = page.context.new_cdp_session(page)
    devtools.send("HeapProfiler.collectGarbage")
    found["script_megabytes"] = devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    found["tiles_in_document"] = page.locator(".tile").count()
    page.click("#show-all")
    started = time.perf_counter()
    page.click("#select-shown")
    found["seconds_to_select_all"] = time.perf_counter() - started
    found["selected"] = page.evaluate(SELECTED)
    started = time.perf_counter()
    page.click('[data-selection="keep"]')
    found["seconds_to_decide_on_all"] = time.perf_counter() - started
    page.close()
    return found


def main() -> None:
    """Measure the page at the sizes that are asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--images", type=int, nargs="*", default=[1_000, 50_000])
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise MissingDependencyError("this needs playwright: pip install playwright") from error
    chromium = shutil.which("chromium")
    if chromium is None:
        raise MissingDependencyError("this needs chromium on the path")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pages = [measure(browser, images, Path(folder)) for images in asked.images]
        about = machine() | {"chromium": browser.version}
        browser.close()
    store({"pages": pages, "machine": about}, asked.out)


if __name__ == "__main__":
    main()
