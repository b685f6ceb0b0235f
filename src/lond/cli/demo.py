"""The command that shows what the package does: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lond.cli.shared import out, seed_numbers


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for runs, figures and report.")] = Path("runs/demo"),
    seeds: Annotated[str, typer.Option(help="Training seeds, e.g. 0,1,2.")] = "0",
    threads: Annotated[int, typer.Option(help="CPU threads; 0 = PyTorch's choice.")] = 0,
) -> None:
    """Train plain cross-entropy and LOND-DRS on scikit-learn's digits with noisy labels and compare them."""
    from rich.table import Table

    from lond.demo import REPORT, run_demo
    from lond.runs import METRICS

    comparison = run_demo(folder, seed_numbers(seeds), threads)
    table = Table("", *comparison.methods, title=comparison.title, caption=comparison.subtitle)
    for title, values in comparison.rows.items():
        table.add_row(title, *("–" if value is None else f"{100 * value:.1f} %" for value in values))
    out.print(table)
    out.print(f"figures: {folder / METRICS}\nreport:  {folder / REPORT}", soft_wrap=True)
