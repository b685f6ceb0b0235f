"""A self-contained page about a comparison of runs: figures, learning curves and pictures by verdict."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from lond.io.atomic import write_atomically
from lond.io.csv_files import read_rows
from lond.io.json_files import read_json_lines
from lond.runs import VERDICTS
from lond.train.loop import LOG
from lond.types import Request, Samples, Verdict

COLOURS = ("#8a8f98", "#2f6fde", "#c2571a", "#2e8b57")
"""Line colours of the methods."""

SECTIONS = {
    Verdict.CLEAN: ("Clean", "the model agrees with the label; surest first", "foreign_score", False),
    Verdict.MISLABELLED: ("Mislabelled", "label given → label suggested; surest first", "foreign_score", False),
    Verdict.FOREIGN: ("Foreign", "belongs to no known class; surest first", "foreign_score", True),
}
"""Verdict -> heading, explanation, column to sort by, whether the largest value comes first."""

SHOWN = 48
"""Pictures a verdict."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2230; --quiet: #667085; --line: #e3e6ec; --page: #fff;
  --good: #2e8b57; --bad: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaf0; --quiet: #98a2b3; --line: #2b3140; --page: #12151c; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 60rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.8rem; letter-spacing: -.01em; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .25rem; }
p { color: var(--quiet); margin: .1rem 0 .9rem; }
table { border-collapse: collapse; width: 100%; max-width: 38rem; }
td, th { padding: .38rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  font-variant-numeric: tabular-nums; }
td:first-child, th:first-child { text-align: left; padding-left: 0; }
th { font-weight: 600; }
.best { font-weight: 650; }
.wall { display: flex; flex-wrap: wrap; gap: .6rem; }
figure { margin: 0; width: 52px; text-align: center; }
img { width: 48px; height: 48px; image-rendering: pixelated; border-radius: 6px; border: 2px solid var(--line); }
img.right { border-color: var(--good); }
img.wrong { border-color: var(--bad); }
figcaption { font-size: .74rem; color: var(--quiet); overflow-wrap: anywhere; }
svg { width: 100%; max-width: 38rem; height: auto; }
svg text { fill: var(--quiet); font: 12px system-ui, sans-serif; }
"""


@dataclass(frozen=True)
class Comparison:
    """Figures of several methods: row title -> one share in [0, 1] a method, or None where it gives none."""

    title: str
    subtitle: str
    methods: Sequence[str]
    rows: Mapping[str, Sequence[float | None]]


def write_report(path: Path, comparison: Comparison, samples: Samples, folders: Mapping[str, Path], judge: str) -> None:
    """Write the page.

    Args:
        path: file to write.
        comparison: the table.
        samples: training samples, for the pictures.
        folders: method -> run folder, for the learning curves.
        judge: the method whose verdicts are shown.
    """
    parts = [
        f"<h1>{escape(comparison.title)}</h1><p>{escape(comparison.subtitle)}</p>",
        _table(comparison),
        "<h2>Accuracy on known test images, by epoch</h2>",
        _curves({method: _history(folder) for method, folder in folders.items()}),
        *_walls(samples, folders[judge] / VERDICTS),
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"<head>{meta}<title>{escape(comparison.title)}</title><style>{STYLE}</style></head>"
    page = f'<!doctype html><html lang="en">{head}<body>{"".join(parts)}</body></html>'
    write_atomically(path, page)


def _table(comparison: Comparison) -> str:
    head = "".join(f"<th>{escape(method)}</th>" for method in comparison.methods)
    lines = []
    for title, values in comparison.rows.items():
        known = [value for value in values if value is not None]
        best = (min if "lower is better" in title else max)(known) if len(known) > 1 else None
        cells = [
            "<td>–</td>" if value is None else f'<td class="{"best" if value == best else ""}">{100 * value:.1f} %</td>'
            for value in values
        ]
        lines.append(f"<tr><td>{escape(title)}</td>{''.join(cells)}</tr>")
    return f"<table><tr><th></th>{head}</tr>{''.join(lines)}</table>"


def _history(folder: Path) -> list[float | None]:
    return [record.get("accuracy") for record in read_json_lines(folder / LOG)]


def _curves(histories: Mapping[str, list[float | None]]) -> str:
    """Draw one line a method, with its name at the right end."""
    width, height, left, top, bottom = 600, 250, 44, 12, 12
    longest = max(2, *(len(history) for history in histories.values()))
    shapes = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + (height - top - bottom) * (1 - share)
        shapes.append(
            f'<line x1="{left}" x2="{width - 90}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" opacity=".12"/>'
        )
        shapes.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for (method, history), colour in zip(histories.items(), COLOURS, strict=False):
        points = [
            (left + (width - 90 - left) * epoch / (longest - 1), top + (height - top - bottom) * (1 - value))
            for epoch, value in enumerate(history)
            if value is not None
        ]
        if points:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.2"/>')
            x, y = points[-1]
            shapes.append(f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" style="fill:{colour}">{escape(method)}</text>')
    label = "accuracy by epoch, one line a method"
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(shapes)}</svg>'


def _walls(samples: Samples, verdicts: Path) -> list[str]:
    """Return one wall of pictures a verdict; a green frame means the verdict is right, where the truth is known."""
    rows = list(enumerate(read_rows(verdicts, ("id", "verdict"), "a run's table of verdicts")))
    parts = []
    for verdict, (title, explanation, column, largest_first) in SECTIONS.items():
        mine = [(index, row) for index, row in rows if row["verdict"] == verdict]
        mine.sort(key=lambda item: float(item[1][column]), reverse=largest_first)
        pictures = _pictures(samples, [index for index, _ in mine[:SHOWN]])
        figures = [_figure(row, picture) for (_, row), picture in zip(mine, pictures, strict=False)]
        wall = "".join(figures) or "<p>none</p>"
        note = "; green frame: the verdict is right" if samples.true_labels is not None else ""
        parts.append(f'<h2>{title} ({len(mine)})</h2><p>{explanation}{note}</p><div class="wall">{wall}</div>')
    return parts


def _figure(row: dict[str, str], picture: str) -> str:
    given, suggested, verdict = row["label"], row["suggested_label"], row["verdict"]
    caption = f"{given} → {suggested}" if verdict == Verdict.MISLABELLED else given
    frame, truth = "", row.get("true_label")
    if truth is not None:
        actual = Verdict.FOREIGN if truth == "" else Verdict.CLEAN if truth == given else Verdict.MISLABELLED
        frame = "right" if actual == verdict else "wrong"
    alt = escape(f"{row['id']}, verdict {verdict}", quote=True)
    return (
        f'<figure><img class="{frame}" src="{picture}" alt="{alt}"><figcaption>{escape(caption)}</figcaption></figure>'
    )


def _pictures(samples: Samples, indices: list[int]) -> list[str]:
    if not indices:
        return []
    (images,) = samples.pixels.stream([Request(torch.tensor(indices))])
    return [_data_url(image) for image in images[0]]


def _data_url(image: Tensor) -> str:
    array = image.permute(1, 2, 0).numpy()
    buffer = io.BytesIO()
    Image.fromarray(array[..., 0] if array.shape[2] == 1 else array).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
