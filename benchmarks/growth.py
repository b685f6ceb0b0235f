"""How judging labels grows with images, classes, width and neighbours, one of them changed at a time.

    python -m benchmarks.growth [--out results/growth.jsonl]

Each row is measured in a process of its own: CPU seconds of ``judge_labels`` and of a search for k neighbours.
Rows that the file holds already are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BASE = {"images": 10_000, "classes": 50, "width": 256, "neighbours": 20}
CHANGES: dict[str, tuple[int, ...]] = {
    "images": (5_000, 20_000, 50_000),
    "classes": (10, 250, 1_000),
    "width": (64, 128, 1_024),
    "neighbours": (50, 200),
}


def cells() -> list[dict[str, int]]:
    """Return the base and every change of it."""
    return [BASE, *(BASE | {name: value} for name, values in CHANGES.items() for value in values)]


def measure(cell: dict[str, int]) -> dict[str, Any]:
    """Return CPU seconds of judging and searching, and the peak memory of this process."""
    import torch
    from benchmarks.store import machine

    from lond.crossfit.judgement import judge_labels
    from lond.identify import nearest_neighbours

    random = torch.Generator().manual_seed(0)
    centres = torch.randn(cell["classes"], cell["width"], generator=random)
    labels = torch.randint(cell["classes"], (cell["images"],), generator=random)
    features = centres[labels] + 1.5 * torch.randn(cell["images"], cell["width"], generator=random)
    started = time.process_time()
    judge_labels(features, labels, cell["classes"])
    judged = time.process_time()
    nearest_neighbours(torch.nn.functional.normalize(features, dim=1), cell["neighbours"])
    searched = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return cell | {"judging": judged - started, "search": searched - judged, "peak_gigabytes": peak, **machine()}


def main() -> None:
    """Measure what the file does not hold yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/growth.jsonl"))
    parser.add_argument("--cell", help="one cell as JSON, measured in this process and printed")
    args = parser.parse_args()
    if args.cell:
        print(json.dumps(measure(json.loads(args.cell))))
        return
    held = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.is_file() else []
    done = [{name: row[name] for name in BASE} for row in held]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    for cell in cells():
        if cell not in done:
            command = [sys.executable, "-m", "benchmarks.growth", "--cell", json.dumps(cell)]
            told = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout
            args.out.parent.mkdir(parents=True, exist_ok=True)
            with args.out.open("a") as file:
                file.write(told.splitlines()[-1] + "\n")
            print(told.splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
