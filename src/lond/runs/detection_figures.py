"""Figures of the detectors on one run: histograms of their scores and ROC curves; they need matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lond.evaluate.ranking import roc_points
from lond.plots import FOREIGN_COLOUR, KNOWN_COLOUR, STYLE, import_pyplot, line_colours, save_figure

if TYPE_CHECKING:
    from lond.runs.detection import DetectorResult


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
            for mask, colour, label in ((~foreign, KNOWN_COLOUR, "known"), (foreign, FOREIGN_COLOUR, "foreign")):
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
