"""Train a few stored cells of the paper's tables again and compare them with ``results/store``.

``python -m tools.recompute --root data --out runs/recompute`` needs CIFAR-100 in the root, and trains on features of a
frozen network that it computes first if the cache has none.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from lond.results import Record, read

STORE = Path(__file__).parents[1] / "results/store"
CELLS = (
    ("table1", "frozen", ("Standard", "cifar80n", "sym80")),
    ("table1", "frozen", ("Co-teaching+", "cifar80n", "sym80")),
    ("figure1", "frozen", ("CIR+ without", "sym80")),
)
"""Table or figure, scale and cell; the cheapest of the store, 26 to 104 seconds of training each."""


def command(experiment: str, scale: str, cells: tuple[str, ...], given: argparse.Namespace) -> list[str]:
    """Return the command line that trains the run of a cell."""
    chosen = [word for cell in cells for word in ("--cells", cell)]
    places = ["--root", str(given.root), "--out", str(given.out / experiment), "--store", str(given.out / "store")]
    options = ["--scale", scale, "--seeds", "0", "--threads", "1", "--accelerator", "cpu", "--yes"]
    return [sys.executable, "-m", "lond.cli", "reproduce", experiment, *chosen, *places, *options]


def differing(stored: Record, new: Record) -> dict[str, tuple[float | None, float | None]]:
    """Return the figures that differ, stored and new."""
    names = stored.metrics.keys() | new.metrics.keys()
    both = {name: (stored.metrics.get(name), new.metrics.get(name)) for name in sorted(names)}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def report(stored: list[Record], new: list[Record]) -> list[str]:
    """Return a line for every new record: whether a stored one has its identity, and which figures differ."""
    known = {record.identity: record for record in stored}
    lines = []
    for record in new:
        if record.identity not in known:
            lines.append(f"{record.name}: no stored result has this identity")
            continue
        figures = differing(known[record.identity], record)
        told = ", ".join(f"{name} {old} -> {now}" for name, (old, now) in figures.items())
        lines.append(f"{record.name}: same identity, {f'other figures: {told}' if told else 'same figures'}")
    return lines


def main() -> None:
    """Train the cells and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("data"), help="folder with the benchmarks' own files")
    parser.add_argument("--out", type=Path, default=Path("runs/recompute"), help="folder for runs and their store")
    given = parser.parse_args()
    for experiment, scale, cells in CELLS:
        subprocess.run(command(experiment, scale, cells, given), check=True)
    print("\n".join(report(read(STORE), read(given.out / "store"))))


if __name__ == "__main__":
    main()
