"""Figures of an audit's classes: how much of each is wrong, and which is taken for which."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from lond.audit.contents import AuditContents
from lond.audit.figures.canvas import LINE, NAMES, QUIET, AuditFigure, canvas, say
from lond.audit.page.style import RATES, Rate, class_rates, read_rate
from lond.types import Verdict
from lond.webpage.style import VERDICT_STYLES, shown

MOST_CLASSES = 30
"""Most classes in the figure of rates."""

MOST_CONFUSED = 20
"""Most classes in the matrix."""


def plot_rates(found: AuditContents, *, most: int = MOST_CLASSES) -> AuditFigure:
    """Draw the estimated rates of wrong labels and foreign images by class with intervals, worst class first.

    The dashed lines are the shares in the whole set. Of more than ``most`` classes, the worst are drawn.

    Examples:
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="pca"))
        >>> type(plot_rates(found)).__name__
        'AuditFigure'
    """
    classes = [(name, {kind: read_rate(entry, kind) for kind in RATES}) for name, entry in class_rates(found.summary)]
    classes = [(name, rates) for name, rates in classes if any(rate is not None for rate in rates.values())]
    classes.sort(key=lambda entry: -sum(rate.estimate for rate in entry[1].values() if rate is not None))
    drawn = classes[: max(1, most)]
    with canvas(7.6, 1.3 + 0.24 * max(3, len(drawn))) as figure:
        if not drawn:
            say(figure.subplots(), "no rates were estimated")
            return figure
        kinds = [kind for kind in RATES if any(rates[kind] for _, rates in drawn)]
        axes = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for axis, kind in zip(axes, kinds, strict=True):
            name, verdict = RATES[kind]
            _bars(axis, [rates[kind] for _, rates in drawn], VERDICT_STYLES[verdict].colour)
            overall = read_rate(found.summary.get("rates"), kind)
            axis.set_title(f"{name}: {overall}" if overall else name)
            if overall:
                axis.axvline(overall.estimate, color="#161b26", lw=0.9, ls="--")
            axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
        axes[0].set_yticks(range(len(drawn)), [shown(name, 28) for name, _ in drawn], **NAMES)
        axes[0].set_ylim(len(drawn) - 0.4, -0.6)
        if len(drawn) < len(classes):
            figure.supxlabel(f"the {len(drawn)} worst of {len(classes):,} classes", color=QUIET, fontsize=8)
        return figure


def _bars(axis: Any, rates: list[Rate | None], colour: str) -> None:
    known = [(place, rate) for place, rate in enumerate(rates) if rate is not None]
    places = [place for place, _ in known]
    axis.barh(places, [rate.estimate for _, rate in known], height=0.66, color=colour, alpha=0.55)
    axis.hlines(places, [rate.low for _, rate in known], [rate.high for _, rate in known], color=colour, lw=1.6)
    axis.scatter([rate.estimate for _, rate in known], places, s=14, color=colour, edgecolors="white", lw=0.5, zorder=3)
    axis.set_xlim(0, max(0.01, *(rate.high for _, rate in known), 0.01) * 1.06)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color=LINE, lw=0.6)
    axis.set_axisbelow(True)


def plot_confusions(found: AuditContents, *, most: int = MOST_CONFUSED) -> AuditFigure:
    """Draw the confusions between given and suggested labels, for the ``most`` involved classes only.

    Examples:
        >>> from lond.audit import AuditSettings, audit
        >>> points = np.random.default_rng(0).normal(size=(40, 4)) + 9 * np.eye(2, 4)[np.arange(40) % 2]
        >>> found = audit((points, np.arange(40) % 2), settings=AuditSettings(map="pca"))
        >>> type(plot_confusions(found)).__name__
        'AuditFigure'
    """
    pairs = _confused(found)
    weight: Counter[str] = Counter()
    for (given, suggested), images in pairs.items():
        weight.update({given: images, suggested: images})
    order = {name: place for place, name in enumerate(found.class_names)}
    names = [name for name, _ in weight.most_common(max(2, most))]
    names.sort(key=lambda name: (order.get(name, len(order)), name))
    side = 1.9 + 0.34 * max(4, len(names))
    with canvas(side + 0.8, side) as figure:
        axis = figure.subplots()
        if not names:
            say(axis, "no image was judged mislabelled")
            return figure
        _matrix(axis, np.array([[pairs[given, suggested] for suggested in names] for given in names]))
        labels = [shown(name, 22) for name in names]
        axis.set_xticks(range(len(names)), labels, rotation=90 if max(map(len, labels)) > 3 else 0, **NAMES)
        axis.set_yticks(range(len(names)), labels, **NAMES)
        few = f"   (the {len(names)} most involved of {len(weight):,} classes)" if len(names) < len(weight) else ""
        axis.set(ylabel="given label", xlabel=f"suggested label{few}")
        axis.set_title("images judged mislabelled")
        return figure


def _confused(found: AuditContents) -> Counter[tuple[str, str]]:
    rows = zip(found.table.label, found.table.suggested_label, found.table.verdict, strict=True)
    return Counter((old, new) for old, new, verdict in rows if verdict == Verdict.MISLABELLED and old and new)


def _matrix(axis: Any, counts: Any) -> None:
    """Draw numbers on a ground that is the darker the larger they are; none where there is nothing."""
    colour = VERDICT_STYLES[Verdict.MISLABELLED].colour
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    # Roots keep pairs visible beside one that is far more frequent.
    strength = 0.85 * np.sqrt(counts / counts.max()) * (counts > 0) + 0.1 * (counts > 0)
    ground = np.stack([*(np.full(counts.shape, part) for part in (red, green, blue)), strength], axis=-1)
    ground[np.eye(len(counts), dtype=bool)] = (0.93, 0.94, 0.955, 1)
    axis.imshow(ground)
    axis.set_xticks(np.arange(len(counts) + 1) - 0.5, minor=True)
    axis.set_yticks(np.arange(len(counts) + 1) - 0.5, minor=True)
    axis.grid(which="minor", color=LINE, lw=0.6)
    axis.tick_params(which="both", length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    for row, column in zip(*np.nonzero(counts), strict=True):
        white = strength[row, column] > 0.6
        text = _short(int(counts[row, column]))
        axis.text(column, row, text, ha="center", va="center", fontsize=7, color="white" if white else "#161b26")


def _short(count: int) -> str:
    return str(count) if count < 10_000 else f"{count / 1000:.0f}k"
