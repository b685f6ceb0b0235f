"""The figure of ``benchmarks.bench``: every ratio as a bar, with the goal as a mark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lond.plots import FOREIGN_COLOUR, KNOWN_COLOUR, STYLE, import_pyplot


def draw_ratios(stored: dict[str, Any], path: Path) -> None:
    """Draw the stored ratios into an SVG file."""
    pyplot = import_pyplot()
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(6, 0.5 + 0.4 * len(stored)))
        for place, one in enumerate(reversed(stored.values())):
            missed = one["goal"] is not None and one["ratio"] > one["goal"]
            axes.barh(place, one["ratio"], color=FOREIGN_COLOUR if missed else KNOWN_COLOUR, height=0.6)
            axes.text(one["ratio"], place, f" {one['ratio']:.2f}", va="center")
            if one["goal"] is not None:
                axes.plot([one["goal"]] * 2, [place - 0.4, place + 0.4], color="black")
        axes.set_yticks(range(len(stored)), list(reversed(stored)))
        axes.set_xlabel("CPU seconds, ours / theirs; the black mark is the goal")
        figure.tight_layout()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
