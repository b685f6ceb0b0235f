"""The command that trains a run: parsing and printing only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from lond.cli.shared import out, print_figures


def train(
    source: Annotated[
        str,
        typer.Argument(help="Folder with class folders, .csv/.parquet table or .npz file; leave out with --preset."),
    ] = "",
    folder: Annotated[Path, typer.Option("--out", help="Run folder; a run that was cut is resumed.")] = Path(
        "runs/latest"
    ),
    preset_name: Annotated[str, typer.Option("--preset", help="Settings by name; `lond list` shows them.")] = "",
    method: Annotated[str, typer.Option(help="Method; `lond list` shows them.")] = "lond-drs",
    root: Annotated[str, typer.Option(help="Folder with a benchmark's own files.")] = "data",
    test: Annotated[str, typer.Option(help="Test data, if not a split of SOURCE.")] = "",
    seed: Annotated[int, typer.Option(help="Training seed; the noise has its own.")] = 0,
    epochs: Annotated[int | None, typer.Option(help="Epochs in all; the warm-up keeps its share.")] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Train on features of a frozen network: minutes on a CPU.")
    ] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. --set train.batch_size=64.")
    ] = None,
    accelerator: Annotated[str, typer.Option(help="auto, cpu, gpu or mps.")] = "auto",
    devices: Annotated[int, typer.Option(help="Processes on this machine.")] = 1,
    nodes: Annotated[int, typer.Option(help="Machines.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 16-mixed.")] = "32-true",
    threads: Annotated[int, typer.Option(help="CPU threads of a process; 0 = PyTorch's choice.")] = 0,
) -> None:
    """Train on SOURCE or on a preset's benchmark; resumes a run that was cut."""
    from lond.presets.options import base_config, key_and_value, scaled
    from lond.runs import METRICS, train_run
    from lond.runs.folder import is_first_process
    from lond.train.runtime import RuntimeSettings

    overrides = {"train.seed": str(seed)} | dict(key_and_value(text) for text in settings or [])
    config = scaled(base_config(source, preset_name, method, root, test), epochs, frozen, overrides)
    runtime = RuntimeSettings(accelerator, devices, nodes, precision, threads)
    warmup = getattr(config.settings, "warmup_epochs", 0)
    if warmup >= config.train.epochs:
        out.print(
            f"note: all {config.train.epochs} epochs are warm-up, so no label is judged; "
            "shorten it with --set settings.warmup_epochs=N",
            soft_wrap=True,
        )
    if (folder / METRICS).is_file():
        out.print(f"note: the run of {folder} is finished already", markup=False, soft_wrap=True)
    try:
        result = train_run(config, folder, runtime)
    except KeyboardInterrupt:
        out.print("stopped; the same command goes on after the last finished epoch")
        raise typer.Exit(130) from None
    if not is_first_process():
        return
    print_figures(f"{config.method}, mean over its last epochs", result.metrics)
    _print_verdicts(folder)
    out.print(f"run folder: {folder}", markup=False, soft_wrap=True)


def _print_verdicts(folder: Path) -> None:
    """Say what was judged, and what could not be read."""
    from lond.io.json_files import read_json
    from lond.runs import MANIFEST, VERDICTS
    from lond.runs.tables import read_columns

    counts = Counter(read_columns(folder / VERDICTS)["verdict"])
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    out.print(f"verdicts on {counts.total()} images: {said} (verdicts.csv)", markup=False, soft_wrap=True)
    problems = read_json(folder / MANIFEST)["data"]["train"]["problems"]
    if problems:
        out.print(f"left out: {len(problems)} files or folders, with reasons in manifest.json", soft_wrap=True)
