"""Write docs/speed.md and its figures from the stored results.

python -m benchmarks.speed_page
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmarks.bench_figure import draw_ratios
from benchmarks.growth import BASE, CHANGES
from benchmarks.growth_figure import draw_growth

RESULTS, DOCS = Path("results"), Path("docs")
TEMPLATE = Path(__file__).with_suffix(".md")
FAR, LARGE = 10_000_000, 1_000_000
"""Images to extrapolate to, and from which measured size on."""
CORES, SHARE = 8, 0.5
"""Cores of a rented machine, and how much of them an audit keeps busy."""

Rows = list[dict[str, Any]]


def read_object(path: Path) -> dict[str, Any]:
    """Return what a JSON file holds; nothing if there is no file."""
    held: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return held


def read_lines(path: Path) -> Rows:
    """Return the rows of a file of JSON lines; none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table; a sentence if nothing was measured."""
    if not rows:
        return "Nothing is stored yet."
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ratios(stored: dict[str, Any]) -> str:
    """Return the table of ratios."""
    rows = [
        [
            name,
            f"{one['ratio']:.2f}",
            "" if one["goal"] is None else f"{one['goal']:g}",
            f"{one['cpu_seconds']['ours']:.1f} / {one['cpu_seconds']['theirs']:.1f}",
            f"{one['peak_gigabytes']['ours']:.2f} / {one['peak_gigabytes']['theirs']:.2f}",
        ]
        for name, one in stored.items()
    ]
    return table(["what", "ratio", "goal", "CPU seconds, ours / theirs", "peak GB, ours / theirs"], rows)


def large(rows: Rows) -> str:
    """Return the table of audits by size."""
    quality = ["wrong: precision / recall", "foreign: precision / recall", "estimated wrong / foreign"]
    head = ["images", "classes", "CPU seconds", "peak GB", "neighbours found", *quality]
    return table(
        head,
        [
            [
                f"{row['images']:,}",
                f"{row['classes']:,}",
                f"{row['cpu_seconds']:.0f}",
                f"{row['peak_gigabytes']:.1f}",
                f"{100 * row['neighbours_recall']:.1f} %",
                f"{row['wrong_precision']:.3f} / {row['wrong_recall']:.3f}",
                f"{row['foreign_precision']:.3f} / {row['foreign_recall']:.3f}",
                f"{100 * row['estimated_wrong']:.0f} % / {100 * row['estimated_foreign']:.0f} %",
            ]
            for row in sorted(rows, key=lambda row: row["images"])
        ],
    )


def resumed(rows: Rows) -> str:
    """Return which audits were killed and started again."""
    sizes = " and ".join(f"{row['images']:,}" for row in rows if row.get("killed_and_resumed"))
    return sizes and f"Killed once and resumed: the audit of {sizes} images."


def extraction(stored: dict[str, Any]) -> str:
    """Return the table of what reading and the network take per image."""
    head = ["from", "CPU ms per image", "rate beside the bare network, by CPU time", "by the clock"]
    named = {
        "bare": "decoded images, one at a time in streams: the bare network",
        "decoded": "decoded images as bytes, handed over as in an audit",
        "bare, batch 64": "decoded images in batches of 64",
        "features": "JPEG files to features",
        "everything": "JPEG files to features, hashes, quality and thumbnails, as in an audit",
        "decoding": "JPEG files to pictures, without the network",
    }
    rows = [
        [
            named[name],
            f"{one['cpu_ms_an_image']:.1f}",
            f"{one['cpu rate over bare']:.2f}",
            f"{one['clock rate over bare']:.2f}",
        ]
        for name, one in stored.get("contenders", {}).items()
    ]
    return table(head, rows)


def highest_rate(stored: dict[str, Any]) -> str:
    """Return the rate that decoding and the bare network would have if nothing else took time, in words."""
    cost = {name: one["cpu_ms_an_image"] for name, one in stored.get("contenders", {}).items()}
    if not {"bare", "decoding"} <= cost.keys():
        return ""
    whole = cost["bare"] + cost["decoding"]
    return f"Decoding and the bare network alone take {whole:.1f} ms, a rate of {cost['bare'] / whole:.2f}.\n"


def on_older_processors(stored: dict[str, Any]) -> str:
    """Return the rate where the network may use no newer instructions than AVX2, in words."""
    contenders = stored.get("contenders", {})
    if not {"bare", "features"} <= contenders.keys():
        return ""
    cost, rate = contenders["bare"]["cpu_ms_an_image"], contenders["features"]["cpu rate over bare"]
    return (
        "Older processors have no instructions beyond AVX2. If the network may use no others "
        f"(`ONEDNN_MAX_CPU_ISA=AVX2`),\nit takes {cost:.1f} ms, and the rate is {rate:.2f} "
        "(`results/extraction_avx2.json`).\n"
    )


def changed(rows: Rows) -> dict[str, Rows]:
    """Return for each number that was changed the rows in which all others are as usual."""
    found = {}
    for name in CHANGES:
        others = {key: value for key, value in BASE.items() if key != name}
        chosen = [row for row in rows if all(row[key] == value for key, value in others.items())]
        found[name] = sorted(chosen, key=lambda row: row[name])
    return found


def growth(rows: Rows) -> str:
    """Return the table of what changes with one number."""
    head = ["changed", "to", "judging, CPU seconds", "search, CPU seconds", "peak GB"]
    found = [
        [name, f"{row[name]:,}", f"{row['judging']:.1f}", f"{row['search']:.1f}", f"{row['peak_gigabytes']:.2f}"]
        for name, chosen in changed(rows).items()
        for row in chosen
    ]
    usual = ", ".join(f"{value:,} {name}" for name, value in BASE.items())
    return f"All else is {usual}.\n\n" + table(head, found)


def extrapolated(rows: Rows) -> dict[str, float]:
    """Return CPU seconds and memory of ``FAR`` images, and the powers that they grow with; empty if too little is held.

    The powers are those between the two largest sets that were measured.
    """
    rows = sorted(rows, key=lambda row: row["images"])[-2:]
    if len(rows) < 2 or rows[-1]["images"] < LARGE:
        return {}
    small, big = rows
    steps = math.log(big["images"] / small["images"])
    found: dict[str, float] = {"images": FAR, "from": small["images"], "to": big["images"], "width": big["width"]}
    for name in ("cpu_seconds", "peak_gigabytes"):
        power = math.log(big[name] / small[name]) / steps
        found |= {f"{name}_power": power, name: big[name] * (FAR / big["images"]) ** power}
    return found


def ten_million(rows: Rows) -> str:
    """Return what ten million images would take, and what to rent for it."""
    far = extrapolated(rows)
    if not far:
        return f"No set of {LARGE:,} images or more is stored yet, and less tells too little about {FAR:,}."
    hours, memory = far["cpu_seconds"] / 3600, far["peak_gigabytes"]
    rented = 2 ** math.ceil(math.log2(1.25 * memory))
    return "\n".join(
        [
            f"Between {far['from']:,} and {far['to']:,} images CPU time grows with the power "
            f"{far['cpu_seconds_power']:.2f} of their number, and memory with the power "
            f"{far['peak_gigabytes_power']:.2f}.",
            f"If this goes on, {FAR:,} embeddings take about {hours:,.{0 if hours >= 10 else 1}f} CPU hours and "
            f"{memory:,.0f} GB.",
            f"Rent a machine with {rented} GB and {CORES} cores. With half of them busy on average, it needs about "
            f"{hours / CORES / SHARE:.1f} hours.",
            "",
            "The estimate assumes that the number of classes grows with the images as in the table above.",
            f"Embeddings have {far['width']} dimensions, and clusters are as easy to divide into cells.",
            f"The disk is fast enough to be read several times, and holds {FAR * far['width'] * 4 / 2**30:,.0f} GB of "
            "embeddings and as much for the stages and the table.",
            "Computing the embeddings is not part of it.",
        ]
    )


def page() -> str:
    """Return the page."""
    stored = read_object(RESULTS / "bench.json")
    audits = read_lines(RESULTS / "large_audit.jsonl")
    figure = "\n\n![Ratios of CPU seconds](images/speed.svg){ .framed }" if stored else ""
    drawn = "\n\n![Time and memory](images/growth.svg){ .framed }" if audits else ""
    parts = {
        "RATIOS": ratios(stored) + figure,
        "EXTRACTION": extraction(read_object(RESULTS / "extraction.json")),
        "HIGHEST_RATE": highest_rate(read_object(RESULTS / "extraction.json")),
        "OLDER": on_older_processors(read_object(RESULTS / "extraction_avx2.json")),
        "LARGE": large(audits),
        "RESUMED": resumed(audits),
        "GROWTH": growth(read_lines(RESULTS / "growth.jsonl")) + drawn,
        "TEN_MILLION": ten_million(audits),
    }
    text = TEMPLATE.read_text()
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


def main() -> None:
    """Write the page and its figures."""
    (DOCS / "speed.md").write_text(page())
    if stored := read_object(RESULTS / "bench.json"):
        draw_ratios(stored, DOCS / "images" / "speed.svg")
    if audits := read_lines(RESULTS / "large_audit.jsonl"):
        rows = changed(read_lines(RESULTS / "growth.jsonl"))
        draw_growth(audits, rows, extrapolated(audits), DOCS / "images" / "growth.svg")


if __name__ == "__main__":
    main()
