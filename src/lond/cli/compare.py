"""The command that compares methods: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from lond.cli.shared import known_names, out, seed_numbers, threads_of_a_run
from lond.errors import ConfigError, MissingDependencyError
from lond.methods import METHODS
from lond.presets.options import COMMAND_LINE, check_overrides, overrides_of, stages
from lond.results.compare import FIGURES, Report, cells, draw, write_tables
from lond.results.compare import compare as run_comparison
from lond.results.jobs import Job, plan
from lond.runs import METRICS
from lond.train.runtime import RuntimeSettings


def compare(
    source: Annotated[str, typer.Argument(help="Images of your own; leave out with --preset.")] = "",
    preset_name: Annotated[str, typer.Option("--preset", help="Data and scale by name; `lond list` shows them.")] = "",
    methods: Annotated[str, typer.Option(help="Methods with commas, or all.")] = "all",
    seeds: Annotated[str, typer.Option(help="Training seeds, e.g. 0,1,2.")] = "0",
    folder: Annotated[Path, typer.Option("--out", help="Folder for runs, table and figure.")] = Path("runs/compare"),
    root: Annotated[str, typer.Option(help="Folder with a benchmark's own files.")] = "data",
    test: Annotated[str, typer.Option(help="Test data, if not a split of SOURCE.")] = "",
    epochs: Annotated[int | None, typer.Option(help="Epochs of every method; warm-ups keep their share.")] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Train on features of a frozen network: minutes on a CPU.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting, for all methods or one: --set dividemix:train.max_steps=20."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs at a time.")] = 1,
    accelerator: Annotated[str, typer.Option(help="auto, cpu, gpu or mps.")] = "auto",
    threads: Annotated[int, typer.Option(help="CPU threads of a run; 0 = the cores divided among the jobs.")] = 0,
) -> None:
    """Train several methods on one data set and compare them; finished runs are kept, cut ones resumed."""
    if jobs < 1:
        raise ConfigError("--jobs must be at least 1")
    chosen = list(METHODS) if methods == "all" else known_names(methods, METHODS) or list(METHODS)
    check_overrides(settings or [], chosen)
    configs = {}
    for method in chosen:
        overrides = overrides_of(settings or [], method)
        configs[method] = stages(
            source, preset_name, method, root=root, test=test, epochs=epochs, frozen=frozen, overrides=overrides
        )[COMMAND_LINE]
    planned = plan(configs, seed_numbers(seeds), folder)
    runtime = RuntimeSettings(accelerator, threads=threads_of_a_run(threads, jobs))
    try:
        report = run_comparison(
            planned,
            (preset_name or source) + (" on frozen features" if planned[0].config.data.frozen.backbone else ""),
            workers=jobs,
            runtime=runtime,
            say=lambda text: out.print(text, markup=False, soft_wrap=True),
        )
    except KeyboardInterrupt:
        out.print("stopped; the same command goes on with what is missing")
        raise typer.Exit(130) from None
    _print_comparison(report, folder, planned)
    written = write_tables(report, folder)
    try:
        written += draw(report, folder)
    except MissingDependencyError as error:
        out.print(f"note: no figure: {error}", markup=False, soft_wrap=True)
    out.print(f"written: {', '.join(map(str, written))}", markup=False, soft_wrap=True)
    if any(row.problems for row in report.rows):
        raise typer.Exit(1)


def _print_comparison(report: Report, folder: Path, planned: list[Job]) -> None:
    """Print the table without empty columns, and say what else lies in the folder."""
    titles = ["method", "seeds", *FIGURES.values(), "steps", "s/epoch"]
    rows = [cells(row) for row in report.rows]
    used = [at for at in range(len(titles)) if at < 2 or any(row[at] != "–" for row in rows)]
    table = Table(*(Column(titles[at], no_wrap=at == 0) for at in used), title=escape(report.title))
    for row in rows:
        table.add_row(*(row[at] for at in used))
    out.print(table)
    window = max((row.mean_over_last for row in report.rows), default=0)
    out.print(f"means over the last {window} epoch(s) of every run")
    others = {path.parent for path in folder.glob(f"*/{METRICS}")} - {job.folder for job in planned}
    if others:
        names = ", ".join(sorted(path.name for path in others))
        out.print(f"note: not in this table, but in the folder: {names}", markup=False, soft_wrap=True)
