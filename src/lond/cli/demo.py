"""The command that shows what the package does: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lond.cli.shared import Accelerator, Threads, print_table, say, seed_numbers


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for runs, tables and report.")] = Path("runs/demo"),
    seeds: Annotated[str, typer.Option(help="Training seeds, e.g. 0,1,2.")] = "0",
    accelerator: Accelerator = "auto",
    threads: Threads = 0,
) -> None:
    """Train plain cross-entropy and LOND-DRS on scikit-learn's digits with noisy labels and compare them."""
    from lond.demo import REPORT, TITLES, run_demo, subtitle
    from lond.results.tables import metrics_table

    numbers = seed_numbers(seeds)
    found = run_demo(folder, numbers, threads, say, accelerator=accelerator)
    print_table(metrics_table(found.groups, TITLES), f"{found.title}, in percent. {subtitle(numbers)}")
    say(f"tables: {folder / 'comparison.md'}, .csv, .json\nreport: {folder / REPORT}")
