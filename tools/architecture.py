"""Write the components of the package and their imports, read from the source, into ``docs/architecture.md``.

``python -m tools.architecture`` writes the page and its drawing, ``--measure`` prints how large the house is.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGE, DRAWING = ROOT / "docs/architecture.md", ROOT / "docs/assets/architecture.svg"
PACKAGE = "lond"

Graph = dict[str, set[str]]
"""Name -> names that it imports."""

BOX_WIDTH, BOX_HEIGHT, GAP, RISE, MARGIN = 118, 34, 18, 78, 16

JOBS = {
    "a training run": "import lond, dataclasses\n"
    "config = lond.preset('digits', 'standard')\n"
    "config = dataclasses.replace(config, train=dataclasses.replace(config.train, epochs=1))\n"
    "lond.train_run(config, 'run', show_progress=False)",
    "an audit": "import numpy as np\n"
    "values = np.random.default_rng(0).normal(size=(40, 8)).astype('float32')\n"
    "np.savez('set.npz', embeddings=values, y=np.arange(40) % 2)\n"
    "from lond.audit import audit, AuditSettings\n"
    "audit('set.npz', settings=AuditSettings(epochs=2, folds=2, map='none'))",
    "a reproduction": "import lond.cli\n"
    "sys.argv = 'lond reproduce table4 --scale smoke --cells Warmup --cells sym80 --out r --store s --yes'.split()\n"
    "try: lond.cli.main()\n"
    "except SystemExit as stop: assert not stop.code",
}
"""Smallest job of a kind -> code that does it."""


def modules_of(source: Path) -> dict[str, Path]:
    """Return every module of the package below a source folder, by its dotted name."""
    found = {}
    for path in sorted((source / PACKAGE).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, modules: Iterable[str], *, on_loading: bool = False) -> set[str]:
    """Return the absolute names of all modules that a file imports, wherever in it, or only when it is loaded.

    Raises:
        ValueError: it has a relative import, which hides who knows whom.
    """
    names: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if on_loading else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path} has a relative import; write the whole name")
            # "from lond.methods import standard" imports a module, too.
            parts = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            names |= {part if part in modules else str(node.module) for part in parts.values()}
    return names


def module_graph(source: Path, *, on_loading: bool = False) -> Graph:
    """Return which modules of the package a module imports, wherever, or only when it is loaded."""
    modules = modules_of(source)
    return {n: imports_of(path, modules, on_loading=on_loading) & modules.keys() for n, path in modules.items()}


def room_of(module: str) -> str:
    """Return the room of a module: the package or module right below the top.

    >>> room_of("lond.audit.judge.learn"), room_of("lond.seeds"), room_of("lond")
    ('audit', 'seeds', 'lond')
    """
    return module.split(".")[1] if "." in module else PACKAGE


def room_graph(graph: Mapping[str, set[str]]) -> Graph:
    """Return which rooms a room imports, itself left out."""
    rooms: Graph = {room_of(module): set() for module in graph}
    for module, imported in graph.items():
        rooms[room_of(module)] |= {room_of(name) for name in imported} - {room_of(module)}
    return rooms


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of names that import each other, directly or through others.

    >>> cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}})
    [['b', 'c']]
    """
    reached = {name: _reached(graph, name) for name in graph}
    groups = {tuple(sorted(n for n in reached[name] if name in reached[n])) for name in graph if name in reached[name]}
    return sorted(map(list, groups))


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return what can be reached from a name in one step or more."""
    found: set[str] = set()
    ahead = [*graph[start]]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += graph[name]
    return found


def levels(graph: Mapping[str, set[str]]) -> dict[str, int]:
    """Return for every name how far it stands above the ground: one more than the highest that it imports.

    Names that import each other stand on one level.

    >>> levels({"a": set(), "b": {"a"}, "c": {"a", "b"}})
    {'a': 0, 'b': 1, 'c': 2}
    """
    group = {name: frozenset([name]) for name in graph}
    group |= {name: frozenset(names) for names in cycles(graph) for name in names}

    @cache
    def level(names: frozenset[str]) -> int:
        below = {group[used] for name in names for used in graph[name]} - {names}
        return 1 + max(map(level, below)) if below else 0

    sys.setrecursionlimit(10_000)
    return {name: level(group[name]) for name in graph}


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """Return the graph without imports that follow from others: of a-b, b-c and a-c, a-c is left out."""
    heights = levels(graph)
    lower = {name: {used for used in graph[name] if heights[used] < heights[name]} for name in graph}
    through = {name: set().union(*(_reached(lower, used) for used in lower[name])) for name in graph}
    return {name: (lower[name] - through[name]) | (graph[name] - lower[name]) for name in graph}


def drawing(graph: Mapping[str, set[str]]) -> str:
    """Return the rooms as an SVG drawing, what is imported below what imports it."""
    shown, rows = reduced(graph), _rows(graph)
    width = 2 * MARGIN + max(len(row) for row in rows) * (BOX_WIDTH + GAP) - GAP
    height = 2 * MARGIN + (len(rows) - 1) * RISE + BOX_HEIGHT
    places = {}
    for number, row in enumerate(rows):
        left = (width - len(row) * (BOX_WIDTH + GAP) + GAP) / 2
        for at, name in enumerate(row):
            places[name] = left + at * (BOX_WIDTH + GAP), height - MARGIN - BOX_HEIGHT - number * RISE
    lines = [_line(places[name], places[used]) for name in sorted(shown) for used in sorted(shown[name])]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>Components of the package; lines lead down to what a component imports</title>",
            "<style>text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#161b26}"
            "rect{fill:#f5f6f8;stroke:#576070}path{fill:none;stroke:#0069ab;stroke-opacity:.55}</style>",
            f'<rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>',
            *lines,
            *(_box(name, *places[name]) for name in sorted(places)),
            "</svg>\n",
        ]
    )


def _rows(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the rooms level by level from below, each near what it imports."""
    heights = levels(graph)
    rows: list[list[str]] = []
    where: dict[str, float] = {}
    for height in range(max(heights.values()) + 1):
        names = sorted(name for name in graph if heights[name] == height)
        row = sorted(names, key=lambda name: _middle([where[used] for used in graph[name] if used in where]))
        where.update({name: (at + 0.5) / len(row) for at, name in enumerate(row)})
        rows.append(row)
    return rows


def _middle(places: list[float]) -> float:
    # The sum must not depend on the order of a set: rooms that stand level would change places.
    return math.fsum(places) / len(places) if places else 0.5


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    half = BOX_WIDTH / 2
    (x, y), (to_x, to_y) = (start[0] + half, start[1] + BOX_HEIGHT), (end[0] + half, end[1])
    bend = max(RISE / 3, (to_y - y) / 2)
    return f'<path d="M{x:g} {y:g}C{x:g} {y + bend:g} {to_x:g} {to_y - bend:g} {to_x:g} {to_y:g}"/>'


def _box(name: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
        f'<text x="{x + BOX_WIDTH / 2:g}" y="{y + BOX_HEIGHT / 2 + 4.5:g}">{escape(name)}</text>'
    )


def page(source: Path = SOURCE) -> str:
    """Return the text of the documentation's page."""
    modules = modules_of(source)
    graph = room_graph(module_graph(source))
    heights = levels(graph)
    lines = [
        "# Architecture",
        "",
        "`make architecture` writes this page from the imports in the source.",
        "A test checks that it is up to date, and `tests/test_layers.py` lists what each component may import.",
        "",
        "Lines lead down to what a component imports.",
        "Imports implied by others are not drawn; the table lists all of them.",
        "",
        f"![The components and their imports](assets/{DRAWING.name}){{ .framed }}",
        "",
        "| component | content | imports |",
        "|---|---|---|",
    ]
    for room in sorted(graph, key=lambda room: (-heights[room], room)):
        path = modules[PACKAGE if room == PACKAGE else f"{PACKAGE}.{room}"]
        holds = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
        known = ", ".join(f"`{name}`" for name in sorted(graph[room]))
        lines.append(f"| `{room}` | {' '.join(holds.split()).replace('|', '/')} | {known} |")
    return "\n".join([*lines, ""])


def longest_chain(graph: Mapping[str, set[str]]) -> int:
    """Return the number of modules in the longest chain of imports.

    >>> longest_chain({"a": set(), "b": {"a"}, "c": {"a", "b"}})
    3
    """
    return 1 + max(levels(graph).values())


WATCH = f"""
import atexit, sys, threading
called = set()
def note(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & 1:  # a function, not the body of a module or class
        called.add(frame.f_code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
def told():
    sys.setprofile(None)
    loaded = sum(name.split(".")[0] == "{PACKAGE}" for name in sys.modules)
    print(loaded, sum("/{PACKAGE}/" in name for name in called))
atexit.register(told)
"""
"""Code that prints, when a process ends, how many files of the package it has loaded and in how many called."""


def entered(source: Path, code: str) -> tuple[int, int]:
    """Return how many files of the package a job loads, and in how many of them it calls something."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", WATCH + code],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"the job failed: {done.stderr}")
    loaded, called = map(int, done.stdout.split()[-2:])
    return loaded, called


def measures(source: Path) -> dict[str, int]:
    """Return how large the package is: lines, files, the longest chain of imports, and files that jobs load."""
    modules = modules_of(source)
    sizes = {
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules.values()),
        "files": len(modules),
        "longest chain of imports": longest_chain(module_graph(source, on_loading=True)),
    }
    for job, code in JOBS.items():
        loaded, called = entered(source, code)
        sizes |= {f"files that {job} loads": loaded, f"files that {job} enters": called}
    return sizes


def main() -> None:
    """Write the page and its drawing, or print the measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="print measures, write nothing")
    parser.add_argument("--source", type=Path, default=SOURCE, help="folder that holds the package")
    given = parser.parse_args()
    if given.measure:
        for name, value in measures(given.source.resolve()).items():
            print(f"{name}: {value}")
        return
    DRAWING.write_text(drawing(room_graph(module_graph(SOURCE))), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}, {DRAWING.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
