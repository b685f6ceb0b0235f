"""Learning curves of several methods, drawn from their records; needs matplotlib (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lond.plots import STYLE, import_pyplot, line_colours, save_figure
from lond.results.groups import epoch_values
from lond.results.records import Record
from lond.results.tables import metric_column

FEW_POINTS = 12
"""Curves of so few epochs have their points marked; a single one would not be seen otherwise."""


def draw_curves(
    curves: Mapping[str, Sequence[Record]], metrics: Sequence[str], path: Path, title: str = ""
) -> list[Path]:
    """Draw metrics over the epochs: one panel per metric, one line per method (mean of its runs, their range shaded).

    Args:
        curves: method -> the records of its runs.
        metrics: names of shares; one that no run has gets no panel.
        path: where to write, without suffix.
        title: what the runs have in common.
    """
    pyplot = import_pyplot()
    with pyplot.rc_context(STYLE):
        drawn = [name for name in metrics if any(epoch_values(records, name) for records in curves.values())]
        panels = max(1, len(drawn))
        figure, axes = pyplot.subplots(1, panels, figsize=(4.6 * panels + 1.8, 3.8), squeeze=False)
        colours = line_colours(len(curves))
        figure.suptitle(title, fontsize=9)
        for axis, name in zip(axes[0], drawn, strict=False):
            for place, (method, records) in enumerate(curves.items()):
                style = {"color": colours[place], "ls": ("-", "--", ":")[place % 3]}
                _draw_line(axis, epoch_values(records, name), method, style)
            axis.set(xlabel="epoch", title=f"{metric_column(name).title} (%)")
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.grid(alpha=0.2)
        if drawn:
            axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
        return save_figure(figure, path)


def _draw_line(axis: Any, points: Sequence[tuple[int, Sequence[float]]], label: str, style: dict[str, Any]) -> None:
    """Draw the mean of each epoch's shares, in percent, and shade their range where there are several."""
    if not points:
        return
    epochs, values = [epoch for epoch, _ in points], [[100 * value for value in values] for _, values in points]
    marker = "." if len(points) <= FEW_POINTS else ""
    axis.plot(epochs, [sum(v) / len(v) for v in values], lw=1.4, label=label, marker=marker, **style)
    if any(len(v) > 1 for v in values):
        low, high = [min(v) for v in values], [max(v) for v in values]
        axis.fill_between(epochs, low, high, color=style["color"], alpha=0.15, lw=0)
