"""A self-contained page about a comparison of runs: metrics, learning curves and pictures by verdict."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import torch
from PIL import Image

from lond.io.atomic import write_atomically
from lond.io.csv_files import read_rows
from lond.results.compare import Comparison
from lond.results.groups import Group, epoch_values, summarise
from lond.results.tables import LOWER_IS_BETTER, metrics_table
from lond.types import Request, Samples, Verdict
from lond.webpage.parts import data_uri, render_page, safe_text
from lond.webpage.style import VERDICT_STYLES, shown

SHOWN = 48
"""Pictures a verdict."""

COLOURS = ("--foreign", "--faint", "--mislabelled", "--unlabelled", "--duplicate", "--ink")
"""Line colours of the methods, from the base style."""

SECTIONS = {
    Verdict.CLEAN: "the model agrees with the label",
    Verdict.MISLABELLED: "label given → label suggested",
    Verdict.FOREIGN: "belongs to no known class",
}
"""Verdict -> explanation."""

STYLE = """
main { max-width: 60rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; }
h2 { margin: 2.25rem 0 .25rem; }
main > p { color: var(--quiet); margin: .1rem 0 .9rem; }
table { width: 100%; max-width: 42rem; }
td, th { padding: .4rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
td:first-child, th:first-child { text-align: left; padding-left: 0; }
th { font-weight: 600; }
.best { font-weight: 680; }
.wall { display: flex; flex-wrap: wrap; gap: .6rem; }
figure { margin: 0; width: 52px; text-align: center; }
img { width: 48px; height: 48px; image-rendering: pixelated; border-radius: 6px; border: 2px solid var(--line); }
img.right { border-color: var(--unlabelled); }
img.wrong { border-color: var(--mislabelled); border-style: dashed; }
figcaption { font-size: .74rem; color: var(--quiet); overflow-wrap: anywhere; }
svg { width: 100%; max-width: 42rem; height: auto; }
svg text { fill: var(--quiet); font-size: 12px; }
svg line { stroke: var(--line); }
svg polyline { fill: none; stroke-width: 2.2px; }
""" + "".join(
    f".line{place} {{ stroke: var({colour}); }} svg text.line{place} {{ fill: var({colour}); stroke: none; }}\n"
    for place, colour in enumerate(COLOURS)
) + "".join(f".mark.{verdict} {{ color: var(--{verdict}); }}\n" for verdict in SECTIONS)  # fmt: skip


def write_report(
    path: Path, comparison: Comparison, subtitle: str, titles: Mapping[str, str], samples: Samples, verdicts: Path
) -> None:
    """Write the page.

    Args:
        path: file to write.
        comparison: the runs of each method.
        subtitle: what they were trained on.
        titles: metric -> its title in the table.
        samples: training samples, for the pictures.
        verdicts: table of the verdicts to show; without it there are no pictures.
    """
    parts = [
        f"<h1>{safe_text(comparison.title, 120)}</h1><p>{safe_text(subtitle, 400)}</p>",
        _table(comparison.groups, titles),
        "<h2>Accuracy on known test images, by epoch</h2>",
        _curves(comparison.groups),
        *(_walls(samples, verdicts) if verdicts.is_file() else ()),
    ]
    write_atomically(path, render_page(comparison.title, f"<main>{''.join(parts)}</main>", style=STYLE))


def _table(groups: Sequence[Group], titles: Mapping[str, str]) -> str:
    table = metrics_table(groups, titles)
    lines = []
    for metric, (title, *values), (_, *texts) in zip(titles, table.rows, table.texts(), strict=True):
        known = [value.mean for value in values if value.mean is not None]
        best = (min if metric in LOWER_IS_BETTER else max)(known) if len(known) > 1 else None
        marks = [' class="best"' if value.mean is not None and value.mean == best else "" for value in values]
        cells = (f"<td{mark}>{text}</td>" for mark, text in zip(marks, texts, strict=True))
        lines.append(f"<tr><td>{safe_text(title)}</td>{''.join(cells)}</tr>")
    heads = "".join(f'<th scope="col">{safe_text(column.title)}</th>' for column in table.columns[1:])
    return f"<table><thead><tr><th>in percent</th>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _curves(groups: Sequence[Group]) -> str:
    """Draw one line per method, the mean of its runs, with its name at the right end."""
    left, right, top, bottom = 44, 510, 12, 238
    curves = [epoch_values(group.records, "accuracy") for group in groups]
    last = max((epoch for curve in curves for epoch, _ in curve), default=1)
    shapes = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - (bottom - top) * share
        shapes.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shapes.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for place, (group, curve) in enumerate(zip(groups, curves, strict=True)):
        means = [(epoch, summarise(values).mean or 0.0) for epoch, values in curve]
        points = [
            (left + (right - left) * (epoch - 1) / max(1, last - 1), bottom - (bottom - top) * mean)
            for epoch, mean in means
        ]
        if points:
            line, (x, y) = " ".join(f"{x:.1f},{y:.1f}" for x, y in points), points[-1]
            name, kind = escape(shown(group.key["method"])), f'class="line{place % len(COLOURS)}"'
            shapes.append(f'<polyline {kind} points="{line}"/>')
            shapes.append(f'<text {kind} x="{x + 6:.1f}" y="{y + 4:.1f}">{name}</text>')
    label = "accuracy by epoch, one line a method"
    return f'<svg viewBox="0 0 600 250" role="img" aria-label="{label}">{"".join(shapes)}</svg>'


def _walls(samples: Samples, verdicts: Path) -> list[str]:
    """Return one wall of pictures per verdict; the frame tells whether it is right, where the truth is known."""
    rows = list(enumerate(read_rows(verdicts, ("id", "verdict"), "a run's table of verdicts")))
    note = "; solid green frame: the verdict is right" if samples.true_labels is not None else ""
    parts = []
    for verdict, explanation in SECTIONS.items():
        mine = [(index, row) for index, row in rows if row["verdict"] == verdict]
        mine.sort(key=lambda item: float(item[1]["foreign_score"]), reverse=verdict == Verdict.FOREIGN)
        pictures = _pictures(samples, [index for index, _ in mine[:SHOWN]])
        figures = [_figure(row, picture) for (_, row), picture in zip(mine, pictures, strict=False)]
        sign = f'<span class="mark {verdict}" aria-hidden="true">{VERDICT_STYLES[verdict].sign}</span>'
        heading = f"<h2>{sign} {verdict.capitalize()} ({len(mine)})</h2><p>{explanation}; surest first{note}</p>"
        parts.append(f'{heading}<div class="wall">{"".join(figures) or "<p>none</p>"}</div>')
    return parts


def _figure(row: dict[str, str], picture: str) -> str:
    given, suggested, verdict = row["label"], row["suggested_label"], row["verdict"]
    caption = f"{given} → {suggested}" if verdict == Verdict.MISLABELLED else given
    frame, truth = "", row.get("true_label")
    if truth is not None:
        actual = Verdict.FOREIGN if truth == "" else Verdict.CLEAN if truth == given else Verdict.MISLABELLED
        frame = "right" if actual == verdict else "wrong"
    alt = escape(shown(f"{row['id']}, verdict {verdict}"))
    image = f'<img class="{frame}" src="{picture}" alt="{alt}">'
    return f"<figure>{image}<figcaption>{safe_text(caption)}</figcaption></figure>"


def _pictures(samples: Samples, indices: list[int]) -> list[str]:
    if not indices:
        return []
    (images,) = samples.pixels.stream([Request(torch.tensor(indices))])
    pictures = []
    for image in images[0]:
        array, file = image.permute(1, 2, 0).numpy(), io.BytesIO()
        Image.fromarray(array[..., 0] if array.shape[2] == 1 else array).save(file, "PNG")
        pictures.append(data_uri(file.getvalue(), "image/png"))
    return pictures
