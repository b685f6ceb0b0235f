"""Figures in one style; needs matplotlib (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lond.errors import MissingDependencyError
from lond.evaluate.ranking import roc_points
from lond.io.atomic import write_atomically
from lond.results.groups import epoch_values
from lond.results.tables import metric_column

if TYPE_CHECKING:
    from lond.results.records import Record
    from lond.runs.detection import DetectorResult

KNOWN, FOREIGN = "#2f6fde", "#c2571a"
"""Colours of known and foreign images."""

BLACK = (0.0, 0.0, 0.0)

FEW_POINTS = 12
"""Curves of so few epochs have their points marked; a single one would not be seen otherwise."""

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


def title_of(result: DetectorResult) -> str:
    """Return the name of a detector and what it was fitted on."""
    return result.name if result.fitted_on == "-" else f"{result.name} ({result.fitted_on})"


def bin_edges(scores: Tensor, bins: int = 40) -> list[float]:
    """Return the edges of the bins that known and foreign scores share; equal scores get a bin of their own."""
    low, high = float(scores.min()), float(scores.max())
    # Scores that differ by rounding only leave no room for bins between them.
    margin = 1e-6 * max(abs(low), abs(high), 1e-6)
    if high - low < margin:
        low, high = low - margin, high + margin
    edges: list[float] = torch.linspace(low, high, bins + 1, dtype=torch.float64).tolist()
    return edges


def draw_histograms(results: Sequence[DetectorResult], foreign: Tensor, path: Path) -> list[Path]:
    """Draw the scores of known and foreign images for every detector, in small multiples."""
    pyplot = import_pyplot()
    columns = min(4, len(results))
    rows = -(-len(results) // columns)
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(rows, columns, figsize=(2.6 * columns, 1.9 * rows), squeeze=False)
        for axis, result in zip(axes.flat, results, strict=False):
            edges = bin_edges(result.scores)
            for mask, colour, label in ((~foreign, KNOWN, "known"), (foreign, FOREIGN, "foreign")):
                values = result.scores[mask].double().numpy()
                axis.hist(values, bins=edges, density=True, color=colour, alpha=0.55, label=label)
            axis.set_title(f"{title_of(result)}  AUROC {100 * result.figures['auroc']:.1f}")
            axis.set_yticks([])
        for axis in list(axes.flat)[len(results) :]:
            axis.set_visible(False)
        axes[0][0].legend(loc="upper right")
        figure.supxlabel("foreign score (larger = more foreign)", fontsize=9)
        return save_figure(figure, path)


def draw_roc(results: Sequence[DetectorResult], foreign: Tensor, path: Path) -> list[Path]:
    """Draw the ROC curve of every detector: foreign images flagged against known images flagged."""
    pyplot = import_pyplot()
    with pyplot.rc_context(STYLE):
        figure, axis = pyplot.subplots(figsize=(6.4, 4.4))
        colours = line_colours(len(results))
        for place, result in enumerate(sorted(results, key=lambda r: -r.figures["auroc"])):
            false_alarms, hits = roc_points(result.scores, foreign)
            label = f"{title_of(result)}  {100 * result.figures['auroc']:.1f}"
            axis.plot(false_alarms, hits, lw=1.4, color=colours[place], label=label)
        axis.plot([0, 1], [0, 1], color="0.7", lw=0.8, ls="--")
        axis.set(xlabel="share of known images flagged", ylabel="share of foreign images flagged")
        axis.set(xlim=(0, 1), ylim=(0, 1.005))
        axis.legend(title="detector, AUROC", loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
        return save_figure(figure, path)


def line_colours(count: int) -> list[Any]:
    """Return so many colours that can be told apart: strong ones, black, pale ones; none of them grey."""
    pyplot = import_pyplot()
    strong, pale = (
        [colour for colour in pyplot.get_cmap("tab20").colors[first::2] if len({round(part, 2) for part in colour}) > 1]
        for first in (0, 1)
    )
    named = [*strong, BLACK, *pale]
    if count <= len(named):
        return named[:count]
    return [pyplot.get_cmap("turbo")((place + 0.5) / count) for place in range(count)]


def draw_curves(
    curves: Mapping[str, Sequence[Record]], metrics: Sequence[str], path: Path, title: str = ""
) -> list[Path]:
    """Draw metrics over the epochs: one panel a metric, one line a method (mean of its runs, their range shaded).

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
