"""The command that shows what the package does: parsing and printing only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lond.cli.shared import Accelerator, Threads, out, print_table, say, seed_numbers

if TYPE_CHECKING:
    from lond.types import Verdict


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Output folder for runs, tables, report and audit.")] = Path(
        "runs/demo"
    ),
    seeds: Annotated[str, typer.Option(help="Training seeds, e.g. 0,1,2.")] = "0",
    accelerator: Accelerator = "auto",
    threads: Threads = 0,
) -> None:
    """Compare LOND-DRS with plain cross-entropy on scikit-learn's digits with noisy labels, and audit the labels."""
    from lond.audit.saved import PAGE
    from lond.demo import AUDIT, REPORT, TITLES, audit_demo, run_demo, subtitle
    from lond.results.tables import metrics_table

    numbers = seed_numbers(seeds)
    found = run_demo(folder, numbers, threads, say, accelerator=accelerator)
    print_table(metrics_table(found.groups, TITLES), f"{found.title}, in percent. {subtitle(numbers)}")
    say("auditing the same labels")
    _, counts = audit_demo(folder, threads, accelerator=accelerator)
    _print_counts(counts)
    say(f"tables: {folder / 'comparison.md'}, .csv, .json; {folder / AUDIT / 'audit.csv'}")
    say(f"report: {folder / REPORT}\nreview page: {folder / AUDIT / PAGE}")


def _print_counts(counts: Counter[tuple[Verdict, Verdict]]) -> None:
    """Print how many images of each kind got which verdict."""
    from rich.table import Table

    judged = sorted({verdict for _, verdict in counts})
    table = Table("really", *(f"judged {verdict}" for verdict in judged))
    for truth in sorted({truth for truth, _ in counts}):
        table.add_row(truth, *(str(counts[truth, verdict]) for verdict in judged))
    say("Audit of the training set, in images:")
    out.print(table)
