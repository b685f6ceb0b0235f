"""Figures in one style; needs matplotlib (extra ``plots``)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from lond.errors import MissingDependencyError
from lond.io.atomic import write_atomically

KNOWN_COLOUR, FOREIGN_COLOUR = "#2f6fde", "#c2571a"

BLACK = (0.0, 0.0, 0.0)

STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "svg.hashsalt": "lond",
    "figure.dpi": 130,
}


def import_pyplot() -> Any:
    """Return matplotlib.pyplot with a backend that needs no screen.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError("figures need matplotlib: pip install 'lond[plots]'") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def line_colours(count: int) -> list[Any]:
    """Return a number of distinguishable colours: strong ones, black, pale ones; none of them grey."""
    pyplot = import_pyplot()
    strong, pale = (
        [colour for colour in pyplot.get_cmap("tab20").colors[first::2] if len({round(part, 2) for part in colour}) > 1]
        for first in (0, 1)
    )
    named = [*strong, BLACK, *pale]
    if count <= len(named):
        return named[:count]
    return [pyplot.get_cmap("turbo")((place + 0.5) / count) for place in range(count)]


def save_figure(figure: Any, path: Path) -> list[Path]:
    """Write PNG and SVG, close the figure, and return both paths."""
    figure.tight_layout()
    paths = [path.with_suffix(".png"), path.with_suffix(".svg")]
    for target in paths:
        form = target.suffix[1:]
        options = {"format": form, "bbox_inches": "tight", "metadata": {"Date": None} if form == "svg" else None}
        write_atomically(target, partial(figure.savefig, **options))
    import_pyplot().close(figure)
    return paths
