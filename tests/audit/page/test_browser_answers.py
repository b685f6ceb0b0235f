"""Which answer the page offers first, and that neither panel nor dialogs push what matters out of sight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("height", [900, 757, 600])
def test_only_list_and_panel_scroll(visit: Any, usual: Path, height: int) -> None:
    seen = visit(usual, viewport={"width": 1440, "height": height})
    seen.choose(0)
    tall = "[document.documentElement.scrollHeight, document.body.scrollHeight]"
    assert seen.page.evaluate(tall) == [height, height]
    panel = seen.page.locator("#detail")
    assert panel.evaluate("(node) => node.scrollHeight > node.clientHeight")
