"""The figure of docs/speed.md on growth: time and memory against images, classes, width and neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lond.plots import FOREIGN_COLOUR, KNOWN_COLOUR, STYLE, import_pyplot

Rows = list[dict[str, Any]]


def draw_growth(audits: Rows, changed: dict[str, Rows], far: dict[str, float], path: Path) -> None:
    """Draw all panels into an SVG file.

    Args:
        audits: whole audits, by images.
        changed: of each number that was changed, the rows in which all others are as usual.
        far: an audit that was extrapolated; empty if there is none.
        path: the file.
    """
    pyplot = import_pyplot()
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(2, 3, figsize=(9, 5.4))
        panels = list(axes.flat)
        for place, name in zip(panels, ("cpu_seconds", "peak_gigabytes"), strict=False):
            _audits(place, audits, far, name)
        for place, (name, rows) in zip(panels[2:], changed.items(), strict=True):
            _changed(place, name, sorted(rows, key=lambda row: row[name]))
        figure.tight_layout()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)


def _audits(axes: Any, audits: Rows, far: dict[str, float], name: str) -> None:
    rows = sorted(audits, key=lambda row: row["images"])
    axes.plot([row["images"] for row in rows], [row[name] for row in rows], "o-", color=KNOWN_COLOUR, label="measured")
    if far:
        ends = [rows[-1], far]
        axes.plot([end["images"] for end in ends], [end[name] for end in ends], ":", color=FOREIGN_COLOUR)
        axes.plot(far["images"], far[name], "o", color=FOREIGN_COLOUR, label="extrapolated")
    axes.set(xscale="log", yscale="log", xlabel="images", title="An audit")
    axes.set_ylabel({"cpu_seconds": "CPU seconds", "peak_gigabytes": "peak GB"}[name])
    axes.legend()


def _changed(axes: Any, name: str, rows: Rows) -> None:
    places = [row[name] for row in rows]
    axes.plot(places, [row["judging"] for row in rows], "o-", color=KNOWN_COLOUR, label="judging, CPU seconds")
    axes.plot(places, [row["search"] for row in rows], "s-", color=FOREIGN_COLOUR, label="search, CPU seconds")
    axes.plot(places, [row["peak_gigabytes"] for row in rows], "^--", color="black", label="peak GB")
    axes.set(xscale="log", yscale="log", xlabel=name, title=f"By {name}", ylim=(0.1, 40))
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.minorticks_off()
    if name == "images":
        axes.legend(fontsize=7)
