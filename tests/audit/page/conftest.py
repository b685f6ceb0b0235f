"""Pages to visit with the browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit.page.page_samples import make_page
from audit.page.page_visits import ROWS, Visit

from lond.audit.page.write import write_page


@pytest.fixture(scope="session")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(path, make_page(ROWS))
    return path


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    visits: list[Visit] = []

    def start(path: Path, *arguments: Any, **context: Any) -> Visit:
        visits.append(Visit(browser, path, *arguments, **context))
        return visits[-1]

    yield start
    for each in visits:
        each.context.close()
    assert [fault for each in visits for fault in each.faults] == []
