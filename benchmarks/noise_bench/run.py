"""Measure contenders on cells, and add one line per (cell, seed, contender) to a file.

    python -m benchmarks.noise_bench.run --data DIR --features DIR --out results/noise_bench/cells.jsonl

Finished lines are skipped, so the command can be stopped and started again. One thread.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from benchmarks.noise_bench.audited import audited
from benchmarks.noise_bench.cells import Cell, make
from benchmarks.noise_bench.columns import columns
from benchmarks.noise_bench.opinion import Opinion, Task
from benchmarks.noise_bench.peers import cleanlab, distance, plain_neighbours, plain_out_of_fold, selfclean, simifeat
from benchmarks.noise_bench.sources import World, load_world
from benchmarks.noise_bench.specs import Part, Spec, cells

from lond.io.json_files import json_line, read_json_lines

Contender = Callable[[Task], Opinion]

CONTENDERS: dict[str, Contender] = {
    "out-of-fold": plain_out_of_fold,
    "neighbours": plain_neighbours,
    "distance": distance,
    "simifeat": simifeat,
    "selfclean": selfclean,
    "cleanlab": cleanlab,
    "audit": audited,
}
"""Name -> function; the costly ones last."""

Key = tuple[str, str, int, str]


def key_of(line: dict[str, Any]) -> Key:
    """Return what a stored line is about: part, cell, seed and contender."""
    return line["part"], line["cell"], line["seed"], line["contender"]


def rounded(value: Any) -> Any:
    """Return a copy with four digits after the point."""
    if isinstance(value, float):
        return round(value, 4)
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def measure(cell: Cell, name: str, contender: Contender) -> dict[str, Any]:
    """Return one line: what the cell is, and all figures of the contender."""
    spec = cell.spec
    task = Task(cell.features, cell.given, cell.classes, cell.test_features)
    start = time.perf_counter()
    opinion = contender(task)
    seconds = time.perf_counter() - start
    line = {
        "part": spec.part,
        "cell": spec.name,
        "seed": spec.seed,
        "contender": name,
        "source": spec.source,
        "family": spec.family,
        "audited": spec.audited,
        "images": len(cell.given),
        "classes": cell.classes,
        "seconds": seconds,
        **columns(cell, opinion),
    }
    return {key: rounded(value) for key, value in line.items()}


def append(path: Path, line: dict[str, Any]) -> None:
    """Add a line in a single write, so that a killed or a second process leaves no half line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(place, json_line(line).encode())
    finally:
        os.close(place)


def run(
    specs: Iterable[Spec],
    world: World,
    out: Path,
    contenders: dict[str, Contender],
    stop_at: float = float("inf"),
) -> int:
    """Measure what the file does not hold yet, until ``stop_at`` (seconds of the monotonic clock); return how many."""
    done = {key_of(line) for line in read_json_lines(out)} if out.exists() else set()
    count = 0
    for spec in specs:
        wanted = {
            name: contender
            for name, contender in contenders.items()
            if (spec.part, spec.name, spec.seed, name) not in done
        }
        cell = make(spec, world) if wanted else None
        for name, contender in wanted.items():
            if time.monotonic() >= stop_at:
                return count
            assert cell is not None
            line = measure(cell, name, contender)
            append(out, line)
            print(f"{spec.part} {spec.name} {name}: {line['seconds']:.1f} s", flush=True)
            count += 1
    return count


def chosen(parts: Iterable[Part], pattern: str, seeds: int, only_audited: bool = False) -> list[Spec]:
    """Return the cells whose name fits a pattern, each at ``seeds`` seeds."""
    return [
        replace(spec, seed=spec.seed + more)
        for more in range(seeds)
        for part in parts
        for spec in cells(part)
        if fnmatch(spec.name, pattern) and (spec.audited or not only_audited)
    ]


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="cifar-100-python/, tinyimagenet32.npz, human50.npz")
    parser.add_argument("--features", type=Path, required=True, help="folder of features, extracted if missing")
    parser.add_argument("--out", type=Path, default=Path("results/noise_bench/cells.jsonl"))
    parser.add_argument("--parts", nargs="+", choices=("judge", "tune"), default=["judge", "tune"])
    parser.add_argument("--cells", default="*", help="pattern of cell names, such as 'people*'")
    parser.add_argument("--contenders", nargs="+", choices=tuple(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds per cell")
    parser.add_argument("--only-audited", action="store_true", help="only the cells that all contenders see")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many minutes")
    options = parser.parse_args()
    stop_at = time.monotonic() + 60 * options.minutes
    torch.set_num_threads(1)
    specs = chosen(options.parts, options.cells, options.seeds, options.only_audited)
    contenders = {name: CONTENDERS[name] for name in options.contenders}
    run(specs, load_world(options.data, options.features), options.out, contenders, stop_at)


if __name__ == "__main__":
    main()
