"""The command that runs the paper's tables and figures: parsing and printing only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lond.cli.cluster import (
    LOCAL,
    AddressOption,
    JobsOption,
    OnOption,
    ThreadsOption,
    check_place,
    chosen_cluster,
    jobs_and_threads,
)
from lond.cli.shared import STORE, make_folder, out, print_table, print_whole, resumable, say, seed_numbers
from lond.errors import ConfigError, LondError, MissingDependencyError

if TYPE_CHECKING:
    from lond.cluster.tasks import RayCluster
    from lond.paper.reproduce.lines import Line
    from lond.paper.reproduce.maps import EmbeddingMap
    from lond.paper.reproduce.planning import Run, RunPlan
    from lond.results.batch import Outcome
    from lond.train.runtime import RuntimeSettings

WEB_FOLDER = "web-digits"
HOUR = 3600.0


def reproduce(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="table1 ... table8, figure1 ... figure6.")] = "",
    cells: Annotated[
        list[str] | None, typer.Option(help='Cells to run: part of a name or a pattern, e.g. "LOND*", cifar80n, sym80.')
    ] = None,
    scale_name: Annotated[str, typer.Option("--scale", help="full, mini, frozen or smoke.")] = "mini",
    seeds: Annotated[str, typer.Option(help="Training seeds, e.g. 0,1,2.")] = "0",
    jobs: JobsOption = None,
    threads: ThreadsOption = 0,
    on: OnOption = LOCAL,
    ray_address: AddressOption = "",
    root: Annotated[str, typer.Option(help="Folder with the benchmarks' files.")] = "data",
    folder: Annotated[Path, typer.Option("--out", help="Output folder for runs, tables and figures.")] = Path(
        "runs/reproduce"
    ),
    store: Annotated[
        Path | None,
        typer.Option(help=f"Results store; default: {STORE}, for smoke runs one in the output folder."),
    ] = None,
    accelerator: Annotated[str, typer.Option(help="Device: auto, cpu, gpu, cuda or mps.")] = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs without running them.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask for confirmation, however long it takes.")
    ] = False,
    show_list: Annotated[bool, typer.Option("--list", help="List tables and figures with their cells.")] = False,
) -> None:
    """Run a table or figure of the paper at any scale and print it next to the published one; resume if interrupted."""
    if show_list:
        _list(name)
        return
    if not name:
        raise ConfigError("name a table or figure, e.g. lond reproduce table1; --list shows them")
    check_place(on, ray_address)
    workers, threads = jobs_and_threads(jobs, threads, on)
    from lond.paper import experiment
    from lond.paper.reproduce.filters import chosen_cells
    from lond.paper.reproduce.planning import plan_experiment, without_data
    from lond.paper.reproduce.scales import checked_scale
    from lond.paper.reproduce.smoke_data import make_web_folder
    from lond.presets.scales import Places
    from lond.results.batch import carry_out, store_notes
    from lond.train.runtime import RuntimeSettings

    wanted, scale = experiment(name), checked_scale(scale_name)
    places = Places(root, folder / WEB_FOLDER)
    plan = plan_experiment(wanted, chosen_cells(wanted.cells, cells or []), scale, seed_numbers(seeds), places, folder)
    store = store or (folder / "store" if scale == "smoke" else STORE)
    runtime = RuntimeSettings(accelerator, threads=threads)
    for note in store_notes(store):
        say(f"note: {note}")
    if dry_run:
        _describe(plan, store, runtime, workers or 1)
        return
    for option, place in (("--out", folder), ("--store", store)):
        make_folder(place, option)
    plan = without_data(plan, _missing(plan, store))
    if any(run.config.data.source for run in plan.runs):
        make_web_folder(places.web_folder)
    with resumable():
        with chosen_cluster(on, ray_address) as cluster:
            _ask(plan, store, runtime, workers or _room(cluster, runtime), yes)
            outcome = carry_out(plan.runs, store, workers=workers, cluster=cluster, runtime=runtime, say=say)
        _write(plan, outcome, root, folder / f"{name}-{scale}", runtime)
    if outcome.problems:
        raise typer.Exit(1)


def _room(cluster: RayCluster | None, runtime: RuntimeSettings) -> int:
    """Return how many runs a cluster trains at a time, at least 1."""
    return 1 if cluster is None else max(1, cluster.room(cluster.needs(runtime.threads, runtime.accelerator)))


def _missing(plan: RunPlan, store: Path) -> list[Run]:
    from lond.results.batch import missing_jobs, stored_records

    return missing_jobs(plan.runs, stored_records(plan.runs, store))


def _write(plan: RunPlan, outcome: Outcome, root: str, target: Path, runtime: RuntimeSettings) -> None:
    """Print the table, and write it with its figures."""
    from lond.paper import panels
    from lond.paper.reproduce.drawing import CURVES
    from lond.paper.reproduce.lines import lines_of
    from lond.paper.reproduce.outputs import heading, notes_of, table_of, tasks_table, write_tables

    shows = panels(plan.experiment.name)
    if not plan.experiment.cells and shows:
        say(f"{heading(plan)}: a drawing of {shows[0].shows}; there is nothing to run")
        return
    lines = lines_of(plan, outcome)
    maps = _maps(plan, outcome, root, runtime)
    if lines or not plan.experiment.cells:
        print_table(table_of(lines) if plan.experiment.cells else tasks_table(), heading(plan))
    for note in notes_of(plan, outcome):
        say(f"note: {note}")
    target.mkdir(parents=True, exist_ok=True)
    written = write_tables(plan, outcome, lines, target) if lines or not plan.experiment.cells else []
    written += _draw(plan, outcome, lines, maps, target)
    for old in set(target.glob(f"{CURVES}-*")) - set(written):
        old.unlink()  # of other cells than the table beside it
    for panel in shows:
        if panel.expected:
            say(f"the paper on {' '.join(filter(None, (panel.experiment, panel.part)))}: {panel.expected}")
    say(f"written: {', '.join(map(str, written))}")


def _maps(plan: RunPlan, outcome: Outcome, root: str, runtime: RuntimeSettings) -> dict[str, EmbeddingMap]:
    """Return a map of each contender that needs one, of the first seed."""
    from lond.paper.reproduce.maps import map_of

    maps = {}
    for cell in plan.cells:
        run = next((run for run in plan.runs_of(cell) if run in outcome.records), None)
        if cell.metrics or run is None:
            continue
        try:
            maps[cell.row] = map_of(run.folder, root, runtime)
        except LondError as error:
            outcome.problems[run] = f"no map: {error}"
    return maps


def _draw(
    plan: RunPlan, outcome: Outcome, lines: Sequence[Line], maps: dict[str, EmbeddingMap], target: Path
) -> list[Path]:
    from lond.paper.reproduce.drawing import draw_experiment

    try:
        return draw_experiment(plan, outcome, lines, maps, target)
    except MissingDependencyError as error:
        say(f"note: no figure: {error}")
        return []


def _ask(plan: RunPlan, store: Path, runtime: RuntimeSettings, jobs: int, yes: bool) -> None:
    """Say how long it will take, and ask before more than an hour."""
    from lond.paper.reproduce.estimate import estimated_seconds
    from lond.runs.estimate import duration, estimate_text

    missing = _missing(plan, store)
    if not missing or plan.scale == "smoke":
        return
    seconds = estimated_seconds(missing, store, runtime, jobs)
    say(f"{len(missing)} runs to train: {estimate_text(seconds)}")
    if seconds <= HOUR or yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            f"it would take about {duration(seconds)}; add --yes to start, choose fewer --cells, or a smaller --scale"
        )
    if not typer.confirm("Start?"):
        raise typer.Exit(1)


def _describe(plan: RunPlan, store: Path, runtime: RuntimeSettings, jobs: int) -> None:
    """Print the runs of a plan, and what is known about them."""
    from rich.markup import escape
    from rich.table import Column, Table

    from lond.paper.reproduce.estimate import estimated_seconds
    from lond.paper.reproduce.outputs import heading, left_out_notes
    from lond.paper.reproduce.planning import data_problems
    from lond.results.batch import missing_jobs, stored_records
    from lond.runs.estimate import estimate_text

    say(heading(plan))
    stored = stored_records(plan.runs, store)
    missing = missing_jobs(plan.runs, stored)
    table = Table("run", "seed", "for", Column("cells", justify="right"), "state")
    for run in plan.runs:
        state = "cut" if run.begun else "to train"
        if run not in missing:
            state = "finished" if run.finished else "stored"
        elif run in stored:
            state = "to train again: what is stored is not enough"
        table.add_row(escape(run.name), str(run.seed), escape(run.users), str(len(run.cells)), state)
    if plan.runs:
        print_whole(table)
    for note in left_out_notes(plan):
        say(f"note: {note}")
    for text in dict.fromkeys(data_problems(missing).values()):
        say(f"note: data are missing: {text}")
    seconds = estimated_seconds(missing, store, runtime, jobs) if missing else 0.0
    say(f"{len(plan.cells)} cells, {len(plan.runs)} runs, {len(missing)} to train: {estimate_text(seconds)}")


def _list(name: str) -> None:
    from rich.markup import escape

    from lond.paper import EXPERIMENTS, experiment
    from lond.paper.reproduce.filters import choices
    from lond.paper.reproduce.scales import SCALES

    for one in [experiment(name)] if name else EXPERIMENTS.values():
        what = choices(one.cells) or "nothing to run"
        out.print(
            f"[bold]{one.name}[/bold] {escape(one.title)} ({len(one.cells)} cells): {escape(what)}", soft_wrap=True
        )
    out.print(f"scales: {escape('; '.join(f'{scale}: {text}' for scale, text in SCALES.items()))}", soft_wrap=True)
