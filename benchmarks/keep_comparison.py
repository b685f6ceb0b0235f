"""Keep what explains a comparison: its table and figure, and the small files of every run.

python benchmarks/keep_comparison.py runs/compare/mini80-sym50 results/mini80/compare-sym50
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

TABLES = ("comparison.json", "comparison.csv", "comparison.md", "curves.png")
RUN_FILES = ("config.json", "manifest.json", "metrics.json", "log.jsonl")


def keep(source: Path, target: Path) -> int:
    """Copy the files and return how many runs there are."""
    target.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        shutil.copyfile(source / name, target / name)
    runs = sorted(path.parent for path in source.glob("*/metrics.json"))
    for run in runs:
        (target / run.name).mkdir(exist_ok=True)
        for name in RUN_FILES:
            shutil.copyfile(run / name, target / run.name / name)
    return len(runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    print(f"{keep(arguments.source, arguments.target)} runs kept in {arguments.target}")
