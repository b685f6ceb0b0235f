"""What the package costs beside what one would use otherwise: ratios of CPU seconds, measured in turns in one run.

    python -m benchmarks.bench [--only NAME ...] [--large] [--rounds 3] [--out results/bench.json] [--figure FILE]

Every measurement is a function in ``MEASUREMENTS`` that returns pairs of commands. Each runs in a process of its own,
which tells its CPU seconds and peak memory. Ours and theirs take turns, and the medians are compared. A ratio that has
grown by a tenth since the stored result is named, and the run then ends with an error.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.store import machine

WORSE = 1.1
"""Growth of a ratio that is named."""

WORK = "benchmarks.bench_work"
"""Module whose functions do the work, each in a process of its own."""


@dataclass(frozen=True)
class Pair:
    """Two ways to the same end: names of functions in ``WORK``, an argument of both, and the ratio aimed at."""

    name: str
    ours: str
    theirs: str
    size: int
    goal: float | None = None
    needs: tuple[str, ...] = ()


def search(large: bool) -> list[Pair]:
    """Neighbour search against faiss's flat index, k = 50 of 256 dimensions."""
    sizes = [50_000, 200_000] if large else [50_000]
    return [Pair(f"search at {size:,}", "search", "faiss_flat", size, 1.0, ("faiss",)) for size in sizes]


def identification(large: bool) -> list[Pair]:
    """Identification at k = 200 of 128 dimensions against the bare matrix product with top-k."""
    return [Pair("identification at 50,000", "identification", "bare_product", 50_000, 1.6)]


def audit(large: bool) -> list[Pair]:
    """An audit of embeddings against cleanlab: cross-validated probe, label issues, Datalab's outliers."""
    sizes, needs = [5_000, 50_000] if large else [5_000], ("cleanlab", "datasets")
    wide = [Pair(f"audit of {size:,}", "audit", "cleanlab", size, 1.0, needs) for size in sizes]
    return [*wide, Pair("audit of 5,000, narrow", "audit_narrow", "cleanlab_narrow", 5_000, None, needs)]


def robust_step(large: bool) -> list[Pair]:
    """A robust step of LOND-DRS at mini80 against the bare passes of its network."""
    return [Pair("robust step", "robust_step", "bare_step", 0, None, ("data:cifar-100-python",))]


def help_page(large: bool) -> list[Pair]:
    """``lond --help`` against importing typer."""
    return [Pair("lond --help", "help_page", "import_typer", 0, 2.0)]


MEASUREMENTS: dict[str, Callable[[bool], list[Pair]]] = {
    "search": search,
    "identification": identification,
    "audit": audit,
    "robust-step": robust_step,
    "help": help_page,
}
"""What is measured; a new measurement is one function here and two in ``bench_work``."""


def run_once(function: str, size: int, root: str, threads: int) -> dict[str, float]:
    """Return CPU seconds and peak gigabytes of one function in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE", "LOND_DATA": root}
    command = [sys.executable, "-m", WORK, function, str(size)]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def compare(pair: Pair, rounds: int, root: str, threads: int) -> dict[str, Any]:
    """Return medians of both ways, in turns, and their ratio."""
    sides: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        for side, function in (("ours", pair.ours), ("theirs", pair.theirs)):
            sides[side].append(run_once(function, pair.size, root, threads))
    seconds = {side: statistics.median(run["cpu_seconds"] for run in runs) for side, runs in sides.items()}
    memory = {side: max(run["peak_gigabytes"] for run in runs) for side, runs in sides.items()}
    ratio = seconds["ours"] / seconds["theirs"]
    found = {
        "ratio": ratio,
        "goal": pair.goal,
        "against": pair.theirs,
        "cpu_seconds": seconds,
        "peak_gigabytes": memory,
    }
    return found | {"rounds": rounds, **(machine() | {"threads": threads})}


def lacking(pair: Pair, root: str) -> list[str]:
    """Return what a measurement needs and does not find."""
    missing = []
    for need in pair.needs:
        kind, _, name = need.partition(":")
        there = (Path(root) / name).exists() if kind == "data" else find_spec(need) is not None
        missing += [] if there else [name or need]
    return missing


def grown(stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return a line for each ratio that is worse than the stored one by a tenth."""
    both = [name for name in found if name in stored]
    return [
        f"{name}: {found[name]['ratio']:.2f} was {stored[name]['ratio']:.2f}"
        for name in both
        if found[name]["ratio"] > WORSE * stored[name]["ratio"]
    ]


def read(path: Path) -> dict[str, Any]:
    """Return the stored results by name; none if there is no file."""
    held: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return held


def main() -> int:
    """Measure, store, draw, and return 1 if a ratio has grown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sorted(MEASUREMENTS), default=list(MEASUREMENTS))
    parser.add_argument("--large", action="store_true", help="also the large sizes, which take many minutes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--root", default="data", help="folder that holds cifar-100-python")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    parser.add_argument("--figure", type=Path, help="SVG file of all stored ratios")
    args = parser.parse_args()
    stored = read(args.out)
    found: dict[str, Any] = {}
    for pair in [pair for name in args.only for pair in MEASUREMENTS[name](args.large)]:
        if missing := lacking(pair, args.root):
            print(f"{pair.name}: left out, needs {', '.join(missing)}", flush=True)
            continue
        found[pair.name] = compare(pair, args.rounds, args.root, args.threads)
        print(f"{pair.name}: {found[pair.name]['ratio']:.2f} times {pair.theirs}", flush=True)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(stored | found, indent=2) + "\n")
    if args.figure is not None:
        from benchmarks.bench_figure import draw_ratios

        draw_ratios(stored | found, args.figure)
    worse = grown(stored, found)
    for line in worse:
        print(f"worse than before: {line}")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
