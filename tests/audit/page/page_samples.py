"""Made-up tables and thumbnails for the tests of the page."""

from __future__ import annotations

import base64
import colorsys
import math
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from lond.audit.page.write import ReviewPage
from lond.audit.table import AuditTable

CLASSES = ("airplane", "bird", "car", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
QUALITY = {"dark": 37, "blurred": 53, "odd shape": 101}
"""What is odd about pictures, and about every how many-th."""
HOSTILE = (
    "</script><script>window.__hacked=1</script>.png",
    "<img src=x onerror=window.__hacked=1>.png",
    "\"'><svg onload=window.__hacked=1>.png",
    "=1+2.png",
    "+cmd|' /C calc'!A0.png",
    "-minus.png",
    "@sum(a1).png",
    "'=quoted.png",
    "'plain quote.png",
    "\u202egnp.exe.png",
    'line\nbreak, and "quotes".png',
    "back\\slash\\u003c.png",
    "lone\udc80surrogate.png",
    "<!--{{DATA}}&amp;.png",
    "long" + "x" * 4000 + ".png",
)


def numbers(column: dict[str, Any]) -> np.ndarray:
    """Return the numbers of a column of the page."""
    return np.frombuffer(base64.b64decode(column["data"]), dtype=f"<{column['type']}")


def texts(column: dict[str, Any]) -> list[str]:
    """Return the texts of a column of the page."""
    if column["type"] == "plain":
        return list(column["values"])
    return [column["values"][code] for code in numbers(column["codes"])]


def make_table(rows: int, *, seed: int = 0, names: tuple[str, ...] = ()) -> AuditTable:
    """Return a table with all six verdicts; the first rows bear the given names."""
    random = np.random.default_rng(seed)
    chance = (0.8, 0.1, 0.06, 0.01, 0.01, 0.02)
    kinds = ("clean", "mislabelled", "foreign", "unreadable", "unlabelled", "duplicate conflict")
    verdict = [kinds[code] for code in random.choice(6, rows, p=chance)]
    true, other = random.integers(0, len(CLASSES), (2, rows))
    # Mistakes prefer a few pairs, as in life.
    other = np.where((random.random(rows) < 0.5) | (other == true), (true + 2) % len(CLASSES), other)
    given = np.where(np.asarray(verdict) == "mislabelled", other, true)
    ids = [*names, *(f"{CLASSES[true[row]]}/img_{row:05d}.png" for row in range(len(names), rows))][:rows]
    score = random.normal(0, 1, rows) + 3 * np.asarray([kind == "foreign" for kind in verdict])
    margin = random.beta(5, 2, rows) - 1.1 * np.asarray([kind == "mislabelled" for kind in verdict])
    unknown = [kind == "unreadable" for kind in verdict]

    def numbers(values: np.ndarray) -> tuple[float, ...]:
        return tuple(math.nan if absent else float(value) for value, absent in zip(values, unknown, strict=True))

    conflicts = [kind == "duplicate conflict" for kind in verdict]
    repeats = [ids[(row + 1) % rows] if conflict else "" for row, conflict in enumerate(conflicts)]
    for row in range(40, rows - 1, 60):
        if verdict[row] == verdict[row + 1] == "clean" and not repeats[row + 1]:
            given[row + 1] = given[row]
            repeats[row + 1] = ids[row]
    near = (np.arange(rows)[:, None] + np.arange(1, 9)) % max(1, rows)
    return AuditTable(
        id=tuple(ids),
        path=tuple(f"train/{name}" for name in ids),
        label=tuple("" if kind == "unlabelled" else CLASSES[code] for kind, code in zip(verdict, given, strict=True)),
        verdict=tuple(verdict),
        suggested_label=tuple(
            "" if kind in ("foreign", "unreadable") else CLASSES[code] for kind, code in zip(verdict, true, strict=True)
        ),
        confidence=numbers(random.beta(8, 1.5, rows)),
        neighbour_margin=numbers(margin),
        negative_margin=numbers(random.normal(0, 1, rows)),
        wrong_score=numbers(random.beta(1, 8, rows)),
        foreign_score=numbers(score),
        p_value=numbers(np.clip(np.round(np.exp(-np.maximum(score, 0) * 1.5), 3), 0.001, 1)),
        duplicate_of=tuple(repeats),
        reason=tuple("truncated file" if kind == "unreadable" else "" for kind in verdict),
        neighbours=tuple(tuple(ids[at] for at in line) for line in near) if rows > 8 else ((),) * rows,
        copy=tuple("" if not name else "exact" if row % 7 == 0 else "near" for row, name in enumerate(repeats)),
        quality=tuple(
            tuple(name for name, every in QUALITY.items() if row % every == every - 1 and not absent)
            for row, absent in enumerate(unknown)
        ),
    )


def doubtful(table: AuditTable) -> list[bool]:
    """Return which images the page takes for doubts, (N,)."""
    doubts = ("mislabelled", "foreign", "duplicate conflict")
    pairs = zip(table.verdict, table.confidence, strict=True)
    return [verdict in doubts or (verdict == "clean" and confidence < 0.5) for verdict, confidence in pairs]


def make_positions(table: AuditTable, *, seed: int = 0) -> list[tuple[float, float]]:
    """Return one cloud a class, with the foreign images between them."""
    random = np.random.default_rng(seed)
    angles = {name: 2 * math.pi * at / len(CLASSES) for at, name in enumerate(CLASSES)}
    points = []
    for label, verdict in zip(table.suggested_label, table.verdict, strict=True):
        reach = 0.3 * random.random() if verdict == "foreign" or not label else 1.0
        angle = angles.get(label, 2 * math.pi * random.random())
        x, y = random.normal(0, 0.13, 2)
        points.append((reach * math.cos(angle) + x, reach * math.sin(angle) + y))
    return points


def make_thumbnail(row: int, side: int = 96) -> Image.Image:
    """Return a plain picture that differs from row to row."""
    red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(row * 0.137 % 1, 0.35, 0.9))
    picture = Image.new("RGB", (side, side if row % 3 else side * 3 // 4), (red, green, blue))
    draw = ImageDraw.Draw(picture)
    edge = side * (2 + row % 5) // 10
    shape = (draw.ellipse, draw.rectangle)[row % 2]
    shape((edge // 2, edge // 2, side - edge, side * 3 // 4 - edge // 2), fill=(blue, red // 2, green))
    return picture


def make_summary(table: AuditTable) -> dict[str, object]:
    """Return a summary with every part."""
    rate = {"estimate": 0.12, "low": 0.104, "high": 0.139}
    foreign = {"estimate": 0.06, "low": 0.047, "high": 0.071}
    by_class = [
        {
            "class": name,
            "images": 5000 + 37 * at,
            "wrong": {"estimate": 0.08 + 0.012 * at, "low": 0.05 + 0.012 * at, "high": 0.11 + 0.015 * at},
            "foreign": {"estimate": 0.09 - 0.006 * at, "low": 0.06 - 0.006 * at, "high": 0.12 - 0.006 * at},
        }
        for at, name in enumerate(CLASSES)
    ]
    return {
        "images": len(table),
        "counts": {kind: table.verdict.count(kind) for kind in dict.fromkeys(table.verdict)},
        "rates": {"wrong": rate, "foreign": foreign, "by_class": by_class},
        "threshold": 1.5,
        "map": {"kind": "tsne", "space": "features of the frozen network"},
        "notes": ["Two classes have fewer than 50 images; their rates are uncertain."],
        "problems": [{"id": "cat/broken.png", "reason": "the file ends too early"}],
        "leaks": [{"train": "cat/img_00003.png", "test": "cat/img_90003.png"}],
        "settings": {"seed": 0, "neighbours": 8, "extractor": "handmade features", "alpha": 0.05},
    }


def make_page(
    rows: int, *, names: tuple[str, ...] = (), side: int = 96, title: str = "Audit of my images"
) -> ReviewPage:
    """Return a page with all parts."""
    table = make_table(rows, names=names)
    unreadable = [verdict == "unreadable" for verdict in table.verdict]
    return ReviewPage(
        title=title,
        table=table,
        class_names=CLASSES,
        summary=make_summary(table),
        positions=make_positions(table),
        thumbnails=lambda row: None if unreadable[row] else make_thumbnail(row, side),
    )
