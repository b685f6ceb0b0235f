"""The command that compares methods: parsing and printing only."""

from __future__ import annotations

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
from lond.cli.shared import (
    Frozen,
    FrozenNetwork,
    Root,
    TestData,
    TrainedOn,
    Whole,
    known_names,
    note,
    print_table,
    resumable,
    say,
    seed_numbers,
)
from lond.errors import MissingDependencyError, counted

if TYPE_CHECKING:
    from lond.results.jobs import Job


def compare(
    source: Annotated[str, typer.Argument(help="Your own images; omit with --preset.")] = "",
    preset_name: Annotated[str, typer.Option("--preset", help="Preset name; see `lond list`.")] = "",
    methods: Annotated[str, typer.Option(help="Methods, separated by commas, or all.")] = "all",
    seeds: Annotated[str, typer.Option(help="Training seeds, e.g. 0,1,2.")] = "0",
    folder: Annotated[Path, typer.Option("--out", help="Output folder for runs, table and figure.")] = Path(
        "runs/compare"
    ),
    root: Root = "data",
    test: TestData = "",
    epochs: Annotated[int | None, typer.Option(help="Epochs of every method; warm-ups keep their share.")] = None,
    frozen: Frozen = False,
    network: FrozenNetwork = "",
    whole: Whole = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting, for all methods or one: --set dividemix:train.max_steps=20."),
    ] = None,
    jobs: JobsOption = None,
    accelerator: TrainedOn = "auto",
    threads: ThreadsOption = 0,
    on: OnOption = LOCAL,
    ray_address: AddressOption = "",
) -> None:
    """Train several methods on one data set and compare them; keep finished runs and resume interrupted ones."""
    from lond.data.sources import check_apart
    from lond.methods import ALL_METHODS
    from lond.presets.options import COMMAND_LINE, check_overrides, overrides_of, stages, unscaled
    from lond.results.compare import STORE, draw, write_tables
    from lond.results.compare import compare as run_comparison
    from lond.results.jobs import plan
    from lond.train.runtime import RuntimeSettings

    check_place(on, ray_address)
    workers, threads = jobs_and_threads(jobs, threads, on)
    chosen = known_names("" if methods == "all" else methods, ALL_METHODS) or list(ALL_METHODS)
    check_overrides(settings or [], chosen)
    configs, unfit = {}, list[str]()
    for method in chosen:
        overrides = overrides_of(settings or [], method)
        made = stages(
            source,
            preset_name,
            method,
            root=root,
            test=test,
            epochs=epochs,
            frozen=frozen,
            network=network,
            whole=whole,
            overrides=overrides,
        )
        configs[method] = made[COMMAND_LINE]
        unfit += [method] if unscaled(made, overrides) else []
    if unfit:
        note(
            "train.epochs changes the length alone and leaves warm-ups, ramps, memories and learning rates "
            f"({', '.join(unfit)}); --epochs scales them, too"
        )
    caches = {config.data.frozen.cache for config in configs.values() if config.data.frozen.backbone}
    for images in (source, test):
        check_apart(folder, images, "--out")
        for cache in sorted(caches):
            check_apart(Path(cache), images, "data.frozen.cache")
    planned = plan(configs, seed_numbers(seeds), folder)
    runtime = RuntimeSettings(accelerator, threads=threads)
    title = (preset_name or source) + (" on frozen features" if planned[0].config.data.frozen.backbone else "")
    with resumable(), chosen_cluster(on, ray_address) as cluster:
        found = run_comparison(
            planned, title, folder / STORE, workers=workers, cluster=cluster, runtime=runtime, say=say
        )
    heading = f"{found.title}, means over the last {counted(found.mean_over_last, 'epoch')} of every run"
    print_table(found.table, heading, ("epochs", "batch_size"))
    _note_others(folder, planned)
    written = write_tables(found, folder)
    try:
        written += draw(found, folder)
    except MissingDependencyError as error:
        say(f"note: no figure: {error}")
    say(f"written: {', '.join(map(str, written))}")
    if found.problems:
        raise typer.Exit(1)


def _note_others(folder: Path, planned: list[Job]) -> None:
    """Name the runs in the folder that the table does not show."""
    from lond.runs.folder import METRICS

    others = {path.parent for path in folder.glob(f"*/{METRICS}")} - {job.folder for job in planned}
    if others:
        say(f"note: not in this table, but in the folder: {', '.join(sorted(path.name for path in others))}")
