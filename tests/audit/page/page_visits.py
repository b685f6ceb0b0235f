"""The page opened in a real browser, for the tests of what a person sees, presses and gets."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from lond.audit.page.write import ReviewPage, write_page

ROWS = 1000
"""Images of the usual page."""


class Visit:
    """One opened page, with everything that went wrong in it."""

    def __init__(self, browser: Any, path: Path, tab: str = "review", before: str = "", **context: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **context})
        self.page = self.context.new_page()
        if before:
            self.page.add_init_script(before)
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._check(request.url))
        self.page.goto(f"{path.as_uri()}#{tab}")
        self.page.wait_for_selector("html[data-ready]")

    def _check(self, url: str) -> None:
        if not url.startswith(("file:", "blob:")):
            self.faults.append(f"asked for {url}")

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def said(self) -> str:
        """Return the last announcement, whether or not it is still (or already) in sight."""
        return str(self.page.text_content("#toast-text"))

    def until(self, condition: str) -> None:
        """Wait until a condition holds; the page's policy forbids the tool's own way, which evaluates texts in it."""
        for _ in range(100):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {condition}")

    def choose(self, number: int) -> None:
        self.page.locator(".tile .main").nth(number).click()

    def tiles(self) -> list[str]:
        script = """() => [...document.querySelectorAll('.tile')]
            .sort((a, b) => a.getAttribute('aria-posinset') - b.getAttribute('aria-posinset'))
            .map((tile) => tile.firstChild.getAttribute('aria-label'))"""
        return list(self.page.evaluate(script))

    def download(self, button: str = "#download-all") -> tuple[str, list[dict[str, str]]]:
        self.page.click("#open-decisions")
        with self.page.expect_download() as waiting:
            self.page.click(button)
        content = Path(waiting.value.path()).read_bytes().decode("utf-8-sig")
        self.page.keyboard.press("Escape")
        return content, list(csv.DictReader(io.StringIO(content, newline="")))

    def import_text(self, content: str) -> None:
        self.page.click("#open-decisions")
        file = {"name": "decisions.csv", "mimeType": "text/csv", "buffer": content.encode()}
        self.page.set_input_files("#import", file)
        self.until("!document.querySelector('#decisions').open")


def written(folder: Path, page: ReviewPage, **options: Any) -> Path:
    path = folder / "page.html"
    write_page(path, page, **options)
    return path
