"""What figures are drawn on: the style of the house inside the block, and nothing changed outside."""

from __future__ import annotations

import importlib
import sys

import pytest

from lond.errors import MissingDependencyError

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib")

from lond.audit.figures.canvas import QUIET, canvas, say  # noqa: E402


def test_the_style_ends_with_the_block() -> None:
    with matplotlib.rc_context({"text.usetex": True, "axes.titlelocation": "right"}):
        before = dict(matplotlib.rcParams)
        with canvas(4, 3) as figure:
            assert matplotlib.rcParams["text.usetex"] is False
            assert matplotlib.rcParams["axes.titlelocation"] == "left"
            assert figure.get_size_inches().tolist() == [4, 3]
        assert dict(matplotlib.rcParams) == before
        with pytest.raises(ZeroDivisionError), canvas(4, 3):
            _ = 1 / 0
        assert dict(matplotlib.rcParams) == before


def test_fonts_that_are_not_installed_are_not_asked_for() -> None:
    from matplotlib import font_manager

    with canvas(4, 3):
        first, *others = matplotlib.rcParams["font.family"]
    assert first == "sans-serif"
    assert set(others) <= set(font_manager.get_font_names())


def test_a_sentence_is_said_as_it_is() -> None:
    with canvas(4, 3) as figure:
        axis = figure.subplots()
        say(axis, r"no $\frac{1}{ here")
    (text,) = axis.texts
    assert (text.get_text(), text.get_color(), text.get_parse_math()) == (r"no $\frac{1}{ here", QUIET, False)
    assert not axis.axison
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "lond.audit.figures.canvas")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'lond\[plots\]'"):
        importlib.import_module("lond.audit.figures.canvas")
