"""The command that trains a run: parsing and printing only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lond.cli.runs import print_threshold
from lond.cli.shared import (
    Frozen,
    FrozenNetwork,
    LogTo,
    Root,
    TestData,
    TrainedOn,
    Whole,
    note,
    out,
    print_figures,
    print_whole,
    say,
)

if TYPE_CHECKING:
    from lond.config import RunConfig
    from lond.train.runtime import RuntimeSettings


def train(
    source: Annotated[
        str,
        typer.Argument(help="Folder of class folders, .csv/.parquet table or .npz file; omit with --preset."),
    ] = "",
    folder: Annotated[Path, typer.Option("--out", help="Run folder; an interrupted run resumes.")] = Path(
        "runs/latest"
    ),
    preset_name: Annotated[str, typer.Option("--preset", help="Preset name; see `lond list`.")] = "",
    method: Annotated[
        str,
        typer.Option(help="Method (see `lond list`); default: cross-fit on features of SOURCE, otherwise lond-drs."),
    ] = "",
    root: Root = "data",
    test: TestData = "",
    seed: Annotated[int, typer.Option(help="Training seed; the noise has a separate one.")] = 0,
    epochs: Annotated[int | None, typer.Option(help="Total epochs; the warm-up keeps its share.")] = None,
    frozen: Frozen = False,
    network: FrozenNetwork = "",
    whole: Whole = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. --set train.batch_size=64.")
    ] = None,
    accelerator: TrainedOn = "auto",
    devices: Annotated[int, typer.Option(help="Processes on this machine.")] = 1,
    nodes: Annotated[int, typer.Option(help="Number of machines.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 16-mixed.")] = "32-true",
    threads: Annotated[int, typer.Option(help="CPU threads per process; 0 = PyTorch's default.")] = 0,
    detector: Annotated[
        str, typer.Option(help="Detector of foreign images, e.g. knn; own = the method's own score.")
    ] = "own",
    timeout: Annotated[int, typer.Option(help="Seconds after which a process stops waiting for another.")] = 1800,
    logs: LogTo = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all settings, their origin and the expected time; train nothing.")
    ] = False,
) -> None:
    """Train on SOURCE or on a preset's benchmark; an interrupted run resumes."""
    from lond.data.sources import check_apart
    from lond.io.json_files import read_json
    from lond.presets.options import COMMAND_LINE, key_and_value, stages, unscaled
    from lond.processes.started import is_first_process, started_outside
    from lond.runs import METRICS
    from lond.runs.fit_detector import check_name
    from lond.runs.folder import part_seen
    from lond.train.runtime import RuntimeSettings

    check_name(detector)
    overrides = {"train.seed": str(seed)} | dict(key_and_value(text) for text in settings or [])
    found = stages(
        source,
        preset_name,
        method,
        root=root,
        test=test,
        epochs=epochs,
        frozen=frozen,
        network=network,
        whole=part_seen(folder) if whole is None else whole,
        overrides=overrides,
    )
    config = found[COMMAND_LINE]
    for images in (source, test):
        check_apart(folder, images, "--out")
        if config.data.frozen.backbone:
            check_apart(Path(config.data.frozen.cache), images, "data.frozen.cache")
    started = started_outside()
    if started is not None and devices == nodes == 1:
        devices, nodes = started.devices, started.nodes
    runtime = RuntimeSettings(accelerator, devices, nodes, precision, threads, timeout)
    _note_warmup(config)
    left = unscaled(found, overrides)
    if left:
        listed = ", ".join(f"{key}={value}" for key, value in left.items())
        epochs = config.train.epochs
        note(f"train.epochs={epochs} changes the length alone and leaves {listed}; --epochs {epochs} scales them, too")
    if dry_run:
        _describe(found, runtime)
        return
    metrics = _train_telling(config, folder, runtime, detector, logs or [])
    if not is_first_process():
        return
    print_figures(f"{config.method}, mean over its last epochs", metrics)
    _print_verdicts(folder, config.method)
    print_threshold(read_json(folder / METRICS), folder)
    if config.data.frozen.backbone:
        say(f"features: kept in {config.data.frozen.cache} for later runs (--set data.frozen.cache=FOLDER moves them)")
    out.print(f"run folder: {folder}", markup=False, soft_wrap=True)


def _note_warmup(config: RunConfig) -> None:
    """Say if a run would end before it judges labels."""
    if getattr(config.settings, "warmup_epochs", 0) >= config.train.epochs:
        out.print(
            f"note: all {config.train.epochs} epochs are warm-up, so no label is judged; "
            "shorten it with --set settings.warmup_epochs=N",
            soft_wrap=True,
        )


def _note_earlier_run(config: RunConfig, folder: Path) -> None:
    """Say what becomes of a run that the folder holds; one with other settings is an error."""
    from lond.processes.started import is_first_process
    from lond.runs import METRICS
    from lond.runs.folder import claim
    from lond.train.state import newest_checkpoint

    if not is_first_process():
        return
    claim(folder, config)
    if (folder / METRICS).is_file():
        note(f"the run of {folder} is finished already, and is not trained again; another --out starts a new one")
    elif newest_checkpoint(folder) is not None:
        note(f"{folder} holds an unfinished run with these settings: it goes on after its last finished epoch")


def _train_telling(
    config: RunConfig, folder: Path, runtime: RuntimeSettings, detector: str, logs: list[str]
) -> dict[str, float]:
    """Train or resume a run, showing how far it is, and return its figures."""
    import os

    from lond.errors import LostProcessError
    from lond.processes.started import is_first_process, is_started_by_first
    from lond.progress.sinks import recorded
    from lond.progress.work import overall
    from lond.runs import train_run

    _note_earlier_run(config, folder)
    parent = os.getppid()
    try:
        steps = 2 if config.data.frozen.backbone else 1
        first = is_first_process()
        shown = overall("training", steps, show=None if first else False, lines=first)
        with recorded(logs if first else (), folder, config.method), shown:
            return train_run(config, folder, runtime, detector=detector).metrics
    except KeyboardInterrupt:
        out.print("stopped; run the same command to resume after the last finished epoch")
        raise typer.Exit(130) from None
    except LostProcessError:
        # One line is enough: the process that started this one, if it is there, says the same.
        if is_started_by_first() and os.getppid() == parent:
            raise typer.Exit(2) from None
        raise


def _describe(found: dict[str, RunConfig], runtime: RuntimeSettings) -> None:
    """Print every setting with the stage that it comes from, and how long the run will take."""
    from rich.markup import escape
    from rich.table import Table

    from lond.methods import ALL_METHODS
    from lond.presets.options import COMMAND_LINE
    from lond.presets.provenance import origins
    from lond.runs.estimate import amount_of, estimate_text, run_seconds

    config = found[COMMAND_LINE]
    table = Table("setting", "value", "default", "from")
    for origin in origins(found):
        default = str(origin.default) if origin.stage else ""
        table.add_row(origin.key, escape(str(origin.value)), escape(default), escape(origin.stage))
    print_whole(table)
    seconds = run_seconds(config, amount_of(config), runtime)
    text = estimate_text(seconds, at_least=ALL_METHODS[config.method].cost is None)
    besides = "; the features of the frozen network come first" if config.data.frozen.backbone else ""
    say(f"{config.train.epochs} epochs: {text}{besides}")


def _print_verdicts(folder: Path, method: str) -> None:
    """Say what was judged, which labels were known, and what could not be read."""
    from lond.io.json_files import read_json
    from lond.methods import ALL_METHODS
    from lond.runs import MANIFEST, METRICS, VERDICTS
    from lond.runs.image_tables import read_verdicts
    from lond.types import Verdict

    counts = Counter(read_verdicts(folder / VERDICTS)["verdict"])
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    out.print(f"verdicts on {counts.total()} images: {said} (verdicts.csv)", markup=False, soft_wrap=True)
    data, found = read_json(folder / MANIFEST)["data"]["train"], read_json(folder / METRICS)
    if counts[Verdict.FOREIGN] and found["threshold"] is not None:
        rate, judged = found["false_alarm_rate"], counts.total() - counts[Verdict.UNREADABLE] - data.get("confirmed", 0)
        alarms = f"about {round(rate * judged)} of {judged} images ({100 * rate:g} %)"
        say(f"false alarms: even if no image were foreign, {alarms} would be called so by mistake")
    if data.get("confirmed"):
        use = "taken as known" if ALL_METHODS[method].uses_confirmed else f"which {method} takes as any other label"
        say(f"labels confirmed by a person: {data['confirmed']}, {use}")
    problems = data["problems"]
    if problems:
        out.print(f"left out: {len(problems)} files or folders, with reasons in manifest.json", soft_wrap=True)
