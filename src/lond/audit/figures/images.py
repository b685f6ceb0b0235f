"""Figures of an audit's images: margins, foreign scores, map, gallery; those of its classes are in ``class_figures``.

They are matplotlib figures for a notebook or ``savefig``. Colours and markers are those of the page.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lond.audit.contents import AuditContents
from lond.audit.figures.canvas import LINE, NAMES, QUIET, AuditFigure, canvas, say
from lond.audit.figures.classes import plot_confusions, plot_rates
from lond.audit.page.style import caption
from lond.types import Verdict
from lond.webpage.style import VERDICT_STYLES, shown

__all__ = ["plot_confusions", "plot_gallery", "plot_map", "plot_margins", "plot_rates", "plot_scores"]

BINS = 56
_DECIDED = (Verdict.CLEAN, Verdict.MISLABELLED, Verdict.FOREIGN)
_MANY = 3000
"""Number of points from which on they are drawn smaller and fainter."""

Floats = NDArray[np.float64]


def plot_margins(found: AuditContents) -> AuditFigure:
    """Draw the neighbour margin of every image against its negative margin, by verdict, with their histograms.

    Right is where the neighbours support the given label; below is where no class claims the image.

    Examples:
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="pca"))
        >>> type(plot_margins(found)).__name__
        'AuditFigure'
    """
    x, y = (np.asarray(c, dtype=np.float64) for c in (found.table.neighbour_margin, found.table.negative_margin))
    with canvas(6.8, 6.2) as figure:
        if not _both(x, y).any():
            say(figure.subplots(), "no image has margins")
            return figure
        grid = figure.add_gridspec(2, 2, width_ratios=(5, 1), height_ratios=(1, 5))
        axis = figure.add_subplot(grid[1, 0])
        _points(axis, found, x, y)
        axis.set(xlabel="neighbour margin   (right: neighbours support the label)")
        axis.set(ylabel="negative margin   (low: no class claims the image)")
        axis.axvline(0, color=LINE, lw=0.8, zorder=0)
        top, side = figure.add_subplot(grid[0, 0], sharex=axis), figure.add_subplot(grid[1, 1], sharey=axis)
        _outlines(top, found, x, "vertical")
        _outlines(side, found, y, "horizontal")
        top.set_title(shown(found.title), **NAMES)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower left", ncols=3, fontsize=8)
        return figure


def plot_scores(found: AuditContents) -> AuditFigure:
    """Draw the histogram of foreign scores by verdict, and the threshold if there is one.

    Examples:
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="pca"))
        >>> type(plot_scores(found)).__name__
        'AuditFigure'
    """
    scores = np.asarray(found.table.foreign_score, dtype=np.float64)
    known = np.isfinite(scores)
    with canvas(7.2, 3.6) as figure:
        axis = figure.subplots()
        if not known.any():
            say(axis, "no image has a foreign score")
            return figure
        groups = {verdict: rows for verdict, rows in _rows(found).items() if known[rows].any()}
        # Clean images lie at the bottom, where there is most of them.
        order = sorted(groups, key=lambda verdict: -int(known[groups[verdict]].sum()))
        edges = _edges(scores[known])
        values = [np.clip(scores[groups[verdict]][known[groups[verdict]]], edges[0], edges[-1]) for verdict in order]
        colours, names = (
            [VERDICT_STYLES[v].colour for v in order],
            [_counted(v, len(own)) for v, own in zip(order, values, strict=True)],
        )
        axis.hist(
            values, bins=edges.tolist(), stacked=True, color=colours, label=names, linewidth=0.4, edgecolor="white"
        )
        threshold = found.summary.get("threshold")
        if isinstance(threshold, int | float) and math.isfinite(threshold):
            axis.axvline(threshold, color="#161b26", lw=1.2, ls="--", label=f"threshold {threshold:.3g}")
        else:
            axis.plot([], [], " ", label="no threshold: nothing is called foreign")
        axis.set(xlabel="foreign score   (larger: more foreign)", ylabel="images")
        axis.set_title(shown(found.title), **NAMES)
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
        return figure


def plot_map(found: AuditContents) -> AuditFigure:
    """Draw the map of all images, by verdict; images without a position are left out and counted.

    Examples:
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="pca"))
        >>> type(plot_map(found)).__name__
        'AuditFigure'
    """
    with canvas(7.2, 5.6) as figure:
        axis = figure.subplots()
        if found.positions is None:
            say(axis, "the audit was made without a map")
            return figure
        places = np.asarray(found.positions, dtype=np.float64).reshape(-1, 2)
        x, y = places[:, 0], places[:, 1]
        missing = int((~_both(x, y)).sum())
        if missing == len(places):
            say(axis, "no image has a place on the map")
            return figure
        _points(axis, found, x, y)
        axis.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
        for side in ("left", "bottom"):
            axis.spines[side].set_color(LINE)
        if missing:
            axis.set_xlabel(f"{missing:,} without a place", color=QUIET, loc="left", fontsize=8)
        axis.set_title(shown(found.title), **NAMES)
        axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
        return figure


def plot_gallery(found: AuditContents, places: list[int], title: str, *, columns: int = 6) -> AuditFigure:
    """Draw the pictures at some places of the table, each with its labels and how sure the audit is."""
    columns = max(1, min(columns, len(places)))
    rows = max(1, math.ceil(len(places) / columns))
    with canvas(max(3.2, 1.5 * columns), 2.0 * rows + 0.35) as figure:
        figure.suptitle(shown(title, 100), x=0.01, ha="left", fontsize=9, fontweight="bold", **NAMES)
        if not places:
            say(figure.subplots(), "there is no such image")
            return figure
        axes = figure.subplots(rows, columns, squeeze=False).flat
        for axis, place in zip(axes, places, strict=False):
            _picture(axis, found, place)
        for axis in list(figure.axes)[len(places) :]:
            axis.set_axis_off()
        return figure


def _picture(axis: Any, found: AuditContents, place: int) -> None:
    picture = found.picture(place)
    axis.set(xticks=[], yticks=[])
    if picture is None:
        axis.text(0.5, 0.5, "no picture", ha="center", va="center", color=QUIET, fontsize=8, transform=axis.transAxes)
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    else:
        axis.imshow(np.asarray(picture))
        # Frames are square and of one size, whatever the pictures are.
        (width, height), half = picture.size, max(picture.size) / 2
        axis.set(xlim=(width / 2 - half - 0.5, width / 2 + half - 0.5))
        axis.set(ylim=(height / 2 + half - 0.5, height / 2 - half - 0.5))
    style = VERDICT_STYLES[Verdict(found.table.verdict[place])]
    for spine in axis.spines.values():
        spine.set(visible=True, color=style.colour, linewidth=1.6)
    axis.set_xlabel("\n".join(line for line in caption(found.table, place, 24) if line), fontsize=7, **NAMES)


def _rows(found: AuditContents) -> dict[Verdict, NDArray[np.intp]]:
    """Return verdict -> its rows, for those that have any; in the order of the page."""
    verdicts = np.asarray(found.table.verdict, dtype=np.str_)
    rows = {verdict: np.flatnonzero(verdicts == str(verdict)) for verdict in VERDICT_STYLES}
    return {verdict: own for verdict, own in rows.items() if len(own)}


def _points(axis: Any, found: AuditContents, x: Floats, y: Floats) -> None:
    """Draw one point per image; what needs attention lies on top."""
    placed = _both(x, y)
    size, alpha = (16.0, 0.6) if placed.sum() < _MANY else (7.0, 0.35)
    for verdict, rows in _rows(found).items():
        own = rows[placed[rows]]
        if not len(own):
            continue
        clean = verdict == Verdict.CLEAN
        axis.scatter(
            x[own],
            y[own],
            s=size if clean else 1.6 * size,
            c=VERDICT_STYLES[verdict].colour,
            marker=VERDICT_STYLES[verdict].marker,
            alpha=alpha if clean else 0.85,
            linewidths=0 if clean else 0.3,
            edgecolors="white",
            label=_counted(verdict, len(own)),
            zorder=2 if clean else 3,
            rasterized=True,
        )


def _outlines(axis: Any, found: AuditContents, values: Floats, orientation: str) -> None:
    """Draw a histogram of each verdict that margins decide on, as tall as the others however many images it has."""
    known = np.isfinite(values)
    edges = _edges(values[known], BINS // 2)
    for verdict, rows in _rows(found).items():
        own = rows[known[rows]] if verdict in _DECIDED else rows[:0]
        heights = np.histogram(values[own], bins=edges)[0].astype(np.float64)
        if heights.max(initial=0):
            colour = VERDICT_STYLES[verdict].colour
            axis.stairs(heights / heights.max(), edges, orientation=orientation, color=colour, lw=1.1)
            axis.stairs(heights / heights.max(), edges, orientation=orientation, color=colour, alpha=0.12, fill=True)
    axis.tick_params(labelbottom=False, labelleft=False, left=False, bottom=False)
    axis.set(**{"yticks" if orientation == "vertical" else "xticks": []})
    axis.spines["left" if orientation == "vertical" else "bottom"].set_visible(False)


def _edges(values: Floats, bins: int = BINS) -> Floats:
    """Return the edges of the bins, between which all but the most extreme values lie."""
    low, high = np.quantile(values, (0.001, 0.999))
    if not high - low > 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    edges: Floats = np.linspace(low, high, bins + 1)
    return edges


def _both(x: Floats, y: Floats) -> NDArray[np.bool_]:
    both: NDArray[np.bool_] = np.isfinite(x) & np.isfinite(y)
    return both


def _counted(verdict: Verdict, count: int) -> str:
    return f"{verdict} ({count:,})"
