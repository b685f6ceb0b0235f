"""Figures in the paper's style, as PNG and SVG; needs matplotlib (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lond.paper import DATA_SETS, MEAN, SWEEPS, Sweep
from lond.paper.figures import SCORE
from lond.paper.names import PRINTED_NOISE
from lond.paper.reproduce.lines import Line, score_of
from lond.paper.reproduce.maps import EmbeddingMap
from lond.paper.reproduce.planning import RunPlan
from lond.plots import BLACK, FOREIGN_COLOUR, KNOWN_COLOUR, STYLE, import_pyplot, line_colours, save_figure
from lond.results.batch import Outcome
from lond.results.curves import draw_curves
from lond.results.groups import summarise
from lond.results.records import Record
from lond.types import FOREIGN

LEAST = 1.0
"""Percentage points that a sweep's axis spans at least."""

CURVES = "curves"
"""How the names of learning curves begin."""


def draw_experiment(
    plan: RunPlan, outcome: Outcome, lines: Sequence[Line], maps: Mapping[str, EmbeddingMap], folder: Path
) -> list[Path]:
    """Draw all figures of a table (learning curves) or of a figure of the paper, and return the paths.

    Args:
        plan: what was run.
        outcome: the records.
        lines: their values.
        maps: contender -> map, for figure 6.
        folder: where to write.
    """
    name = plan.experiment.name
    if not plan.experiment.cells or not outcome.records:
        return []
    if name == "figure1":
        drawn = draw_curves(_runs(plan, outcome), ("accuracy",), folder / name, _common(plan))
        return drawn + draw_bars(lines, folder / f"{name}-bars")
    if name in ("figure3", "figure4"):
        shown = [sweep for sweep in SWEEPS if sweep.experiment == name and _is_swept(sweep, lines)]
        return draw_sweeps(shown, lines, folder / name) if shown else []
    if name == "figure5":
        return draw_curves(_runs(plan, outcome), ("label_accuracy", "accuracy"), folder / name, _common(plan))
    if name == "figure6":
        return draw_maps(maps, folder / name) if maps else []
    paths = []
    for data, noise in dict.fromkeys((cell.data, cell.noise) for cell in plan.cells):
        if curves := _runs(plan, outcome, data, noise):
            stem = "-".join(filter(None, (CURVES, data, noise)))
            paths += draw_curves(curves, SCORE, folder / stem, _common(plan, data, noise))
    return paths


def _common(plan: RunPlan, data: str = "", noise: str = "") -> str:
    """Return what all curves of a picture have in common: data, noise and scale."""
    places = {(cell.data, cell.noise) for cell in plan.cells}
    data, noise = (data, noise) if data else next(iter(places)) if len(places) == 1 else ("", "")
    names = (DATA_SETS[data].printed if data else "", PRINTED_NOISE.get(noise, noise), f"scale {plan.scale}")
    return ", ".join(filter(None, names))


def _runs(
    plan: RunPlan, outcome: Outcome, data: str | None = None, noise: str | None = None
) -> dict[str, list[Record]]:
    """Return, by contender, the record of each seed; detectors count as the method they are put on."""
    found: dict[str, list[Record]] = {}
    for cell in plan.cells:
        if (data, noise) not in ((None, None), (cell.data, cell.noise)):
            continue
        label = f"{cell.method} (under detectors)" if cell.detector else cell.name
        records = [outcome.records[run] for run in plan.runs_of(cell) if run in outcome.records]
        if records and label not in found:
            found[label] = records
    return found


def _is_swept(sweep: Sweep, lines: Sequence[Line]) -> bool:
    return any(line.values and line.row.startswith(f"{sweep.symbol}=") for line in lines)


def draw_sweeps(sweeps: Sequence[Sweep], lines: Sequence[Line], path: Path) -> list[Path]:
    """Draw one panel a hyper-parameter, one line a noise and their mean; stars mark what the paper recommends."""
    pyplot = import_pyplot()
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(1, len(sweeps), figsize=(3.1 * len(sweeps) + 1.5, 3.0), squeeze=False)
        for axis, sweep in zip(axes[0], sweeps, strict=True):
            recommended = dict(zip(sweep.noises, sweep.chosen, strict=True))
            noises = list(dict.fromkeys((*sweep.noises, *(line.noise for line in lines if line.noise != MEAN))))
            for place, noise in enumerate(noises):
                if points := _score_points(sweep, lines, noise):
                    x, y, error = zip(*points, strict=True)
                    drawn = axis.errorbar(x, y, error, marker=".", lw=1.4, capsize=2, color=f"C{place}")
                    drawn.set_label(PRINTED_NOISE[noise])
                    axis.plot(*_marked(points, recommended.get(noise)), "*", ms=11, color=f"C{place}")
            if shared := _score_points(sweep, lines, MEAN):
                x, y, _ = zip(*shared, strict=True)
                axis.plot(x, y, "k--", lw=1.2, label="mean of the noises")
            axis.set(xlabel=sweep.symbol, title=f"effect of {sweep.symbol}", xticks=sweep.values)
            axis.grid(alpha=0.2)
            axis.ticklabel_format(axis="y", useOffset=False)
            _widen(axis)
        axes[0][0].set_ylabel("mean of accuracy and AUROC (%)")
        if axes[0][-1].get_legend_handles_labels()[0]:
            axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
        return save_figure(figure, path)


def _score_points(sweep: Sweep, lines: Sequence[Line], noise: str) -> list[tuple[float, float, float]]:
    """Return value, score and deviation of what was swept under a noise."""
    found = [(value, score_of(lines, f"{sweep.symbol}={value:g}", noise)) for value in sweep.values]
    return [(value, score.mean, score.deviation or 0.0) for value, score in found if score.mean is not None]


def _widen(axis: Any) -> None:
    """Let an axis show at least a point, so that rounding does not look like an effect."""
    low, high = axis.get_ylim()
    if high - low < LEAST:
        axis.set_ylim((low + high - LEAST) / 2, (low + high + LEAST) / 2)


def _marked(points: Sequence[tuple[float, float, float]], chosen: float | None) -> tuple[list[float], list[float]]:
    at = [(value, mean) for value, mean, _ in points if value == chosen]
    return [value for value, _ in at], [mean for _, mean in at]


def draw_bars(lines: Sequence[Line], path: Path) -> list[Path]:
    """Draw the accuracy of each contender with and without open-set noise in its training set."""
    pyplot = import_pyplot()
    contenders = list(dict.fromkeys(line.row.split(" with")[0] for line in lines))
    kinds = (("with", FOREIGN_COLOUR, -0.2), ("without", KNOWN_COLOUR, 0.2))
    with pyplot.rc_context(STYLE):
        figure, axis = pyplot.subplots(figsize=(4.2, 3.2))
        for kind, colour, shift in kinds:
            rows = {line.row: line.summary for line in lines}
            found = [rows.get(f"{name} {kind} open-set noise", summarise([])) for name in contenders]
            heights = [s.mean or 0.0 for s in found]
            errors = [s.deviation or 0.0 for s in found] if any(s.deviation for s in found) else None
            places = [place + shift for place in range(len(contenders))]
            bars = axis.bar(places, heights, 0.38, yerr=errors, capsize=3, color=colour)
            bars.set_label(f"{kind} open-set noise")
            axis.bar_label(bars, [f"{s.mean:.1f}" if s.mean is not None else "" for s in found], fontsize=8)
        axis.set_xticks(range(len(contenders)), contenders)
        axis.set(ylabel="accuracy (%)")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, fontsize=8)
        return save_figure(figure, path)


def draw_maps(maps: Mapping[str, EmbeddingMap], path: Path) -> list[Path]:
    """Draw one map a contender: a colour a class, foreign images in black."""
    pyplot = import_pyplot()
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(1, len(maps), figsize=(3.3 * len(maps), 3.3), squeeze=False)
        most = max((len(set(one.labels)) for one in maps.values()), default=0)
        colours = [colour for colour in line_colours(most + 1) if colour != BLACK]
        for axis, (name, one) in zip(axes[0], maps.items(), strict=True):
            for place, label in enumerate(sorted(set(one.labels))):
                points = [point for point, own in zip(one.points, one.labels, strict=True) if own == label]
                x, y = zip(*points, strict=True)
                if label == FOREIGN:
                    axis.scatter(x, y, s=9, color="black", marker="x", lw=0.7, alpha=0.7, label="foreign")
                else:
                    axis.scatter(x, y, s=6, color=colours[place], lw=0, alpha=0.9)
            axis.set(xticks=[], yticks=[], title=f"{name} ({one.kind})")
        axes[0][0].plot([], [], "o", ms=3, color="grey", label="known, a colour a class")
        labelled = axes[0][0].get_legend_handles_labels()
        figure.legend(*labelled, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, fontsize=8)
        return save_figure(figure, path)
