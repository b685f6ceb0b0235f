"""What several test files need; the helpers in this folder are importable, whatever import mode pytest runs in."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Some virtual machines offer AMX and then refuse it: half precision in oneDNN would end the process. Read at start-up.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled networks out of the user's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOND_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def lond(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run the command line in this process; return exit code, output and error output."""
    from lond import cli

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lond", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    """Forget the methods, detectors and backbones that a test registered."""
    yield
    for module, registry in (("methods", "ALL_METHODS"), ("detect", "ALL_DETECTORS"), ("nets", "ALL_BACKBONES")):
        if f"lond.{module}" in sys.modules:
            getattr(sys.modules[f"lond.{module}"], registry).added.clear()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return a browser, one for each process: its interface cannot be opened twice. Tests without one are skipped."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the path: install it to test pages")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()
