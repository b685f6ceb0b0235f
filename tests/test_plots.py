"""The one style of figures."""

from __future__ import annotations

import pytest

from lond.plots import BLACK, line_colours


@pytest.mark.parametrize("count", [0, 1, 9, 18, 25])
def test_lines_have_colours_of_their_own(count: int) -> None:
    colours = line_colours(count)
    assert len(set(colours)) == count
    assert all(max(colour[:3]) - min(colour[:3]) > 0.1 for colour in colours if colour != BLACK), "grey"
