"""What the figures of an audit are drawn on; needs matplotlib (extra ``plots``), and leaves its global state alone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lond.errors import MissingDependencyError

try:
    import matplotlib
    from matplotlib import font_manager
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingDependencyError("figures need matplotlib: pip install 'lond[plots]'") from error

from lond.plots import STYLE

QUIET = "#576070"
"""Colour of what is said beside the data."""

LINE = "#d9dde4"
"""Colour of lines that guide the eye."""

NAMES: dict[str, Any] = {"parse_math": False}
"""Goes with every text that holds a name, in which a dollar is a dollar and starts no formula."""

_WIDE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei", "Microsoft YaHei",
    "PingFang SC", "Hiragino Sans", "Yu Gothic", "Malgun Gothic", "Noto Sans", "Noto Sans Arabic",
    "Noto Sans Devanagari", "Arial",
)  # fmt: skip
"""Fonts that know the letters which matplotlib's own font does not, where one of them is installed."""


class AuditFigure(Figure):
    """A matplotlib figure that a notebook shows by itself, also where nobody has imported pyplot."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", bbox_inches="tight")
        return file.getvalue()


@contextmanager
def canvas(width: float, height: float) -> Iterator[AuditFigure]:
    """Give an empty figure of a size in inches; what is drawn inside the block has the style of the house."""
    installed = set(font_manager.get_font_names())
    style: Any = STYLE | {
        # Whoever sets up matplotlib for LaTeX would have names of classes run as LaTeX.
        "text.usetex": False,
        "font.family": ["sans-serif", *(name for name in _WIDE_FONTS if name in installed)],
        "axes.edgecolor": "#7a8494",
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "text.color": "#161b26",
        "axes.labelcolor": "#161b26",
        "figure.facecolor": "white",
        "axes.facecolor": "white",
        "axes.titlelocation": "left",
    }
    with matplotlib.rc_context(style):
        yield AuditFigure(figsize=(width, height), layout="constrained")


def say(axis: Any, text: str) -> None:
    """Write a sentence where there is nothing to draw."""
    axis.set_axis_off()
    axis.text(0.5, 0.5, text, ha="center", va="center", color=QUIET, wrap=True, transform=axis.transAxes, **NAMES)
