"""The command line: parsing and printing only."""

from __future__ import annotations

import os

# Spinning OpenMP threads slow everything down as soon as another process is busy; must be set before torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import csv
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from lond import __version__
from lond.cli_audit import apply, audit
from lond.cli_reproduce import reproduce
from lond.cli_results import results
from lond.compare import FIGURES, Report, cells, draw, write_tables
from lond.compare import compare as run_comparison
from lond.config import RunConfig, with_overrides
from lond.data.benchmarks import BENCHMARKS
from lond.data.squares import unreadable
from lond.demo import REPORT, run_demo
from lond.detect import DETECTORS
from lond.errors import ConfigError, DataError, LondError, MissingDependencyError
from lond.evaluate import evaluate_predictions
from lond.jobs import Job, plan
from lond.methods import METHODS
from lond.presets import FROZEN_EPOCHS, PRESETS, on_frozen, own_data, preset
from lond.recipes.apply import with_epochs, with_method
from lond.runs import MANIFEST, METRICS, VERDICTS, LoadedRun, load_run, save_decision, train_run
from lond.runs import calibrate as calibrate_run
from lond.runs.data import load_data, with_root
from lond.runs.decision import FALSE_ALARM_RATE
from lond.runs.detection import detect_run
from lond.runs.folder import is_first_process, read_json
from lond.runs.tables import prediction_rows, read_columns
from lond.train.log import write_json
from lond.train.runtime import RuntimeSettings
from lond.types import FOREIGN, Samples

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=(
        "Learn from images with unreliable labels: a classifier for the known classes, a detector for everything else."
    ),
)
out = Console()


def _say_version(wanted: bool) -> None:
    if wanted:
        out.print(f"lond {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take what stands before the command."""


@app.command()
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
    overrides = {"train.seed": str(seed)} | dict(_pair(text) for text in settings or [])
    config = _scaled(_config(source, preset_name, method, root, test), epochs, frozen, overrides)
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
    _print_figures(f"{config.method}, mean over its last epochs", result.metrics)
    _print_verdicts(folder)
    out.print(f"run folder: {folder}", markup=False, soft_wrap=True)


@app.command()
def evaluate(
    folder: Annotated[Path, typer.Argument(help="Run folder.")],
    data: Annotated[str, typer.Option(help="Data to evaluate on; the run's own test set if left out.")] = "",
    root: Annotated[str, typer.Option(help="Folder with a benchmark's own files.")] = "",
    save: Annotated[Path | None, typer.Option("--out", help="JSON file for the figures.")] = None,
) -> None:
    """Print accuracy, AUROC and FPR95 of a trained run on labelled images; unknown class names count as foreign."""
    _make_room(save)
    run = load_run(folder)
    samples = run.read(data) if data else _own_test_set(run, root)
    figures = evaluate_predictions(run.predict(samples), samples.labels)
    if not figures:
        raise DataError(f"{samples.origin} has no labelled images to evaluate on")
    _print_figures(f"{run.config.method} on {len(samples)} images of {samples.origin}", figures)
    if not run.finished:
        out.print("note: the run is not finished; start its lond train command again to go on")
    if save:
        write_json(save, {"run": str(folder), "data": samples.origin, "images": len(samples), "metrics": figures})


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(help="Run folder.")],
    source: Annotated[str, typer.Argument(help="Image folder, table or .npz file.")],
    save: Annotated[Path, typer.Option("--out", help="CSV file to write.")] = Path("predictions.csv"),
    threshold: Annotated[
        float | None, typer.Option(help="Score above which an image is foreign; the run's own if left out.")
    ] = None,
) -> None:
    """Write class, probability, foreign score and verdict (known or foreign) of every image."""
    _make_room(save)
    run = load_run(folder)
    samples = run.read(source, ignore_classes=True)
    table = prediction_rows(run, samples, run.predict(samples), threshold)
    with save.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, table.columns)
        writer.writeheader()
        writer.writerows(table.rows)
    foreign = sum(row["verdict"] == "foreign" for row in table.rows)
    unread = sum(row["verdict"] == "unreadable" for row in table.rows)
    out.print(
        f"{len(table.rows)} images: {foreign} foreign, {unread} unreadable; written to {save}",
        markup=False,
        soft_wrap=True,
    )


@app.command()
def calibrate(
    folder: Annotated[Path, typer.Argument(help="Run folder.")],
    known: Annotated[str, typer.Option(help="Checked images of known classes that were not trained on.")],
    rate: Annotated[float, typer.Option(help="Share of known images that may be called foreign.")] = FALSE_ALARM_RATE,
) -> None:
    """Set the run's threshold, p-values and temperature from checked images; `lond predict` uses them."""
    run = load_run(folder)
    samples = run.read(known)
    prediction, labels = run.predict(samples), samples.labels.clone()
    # What could not be read was predicted as a grey image, which is none of the known ones.
    labels[list(unreadable(samples.pixels))] = FOREIGN
    decision = calibrate_run(prediction, labels, rate, samples.origin)
    save_decision(folder, decision)
    out.print(
        f"threshold {decision.threshold:.4g} from {len(decision.known_scores)} known images, false alarms {rate:.1%}"
    )
    if decision.ece_before is not None and decision.ece_after is not None:
        change = f"{100 * decision.ece_before:.2f} % -> {100 * decision.ece_after:.2f} %"
        out.print(f"temperature {decision.temperature:.3f}, calibration error (ECE) {change}")


@app.command()
def detect(
    folder: Annotated[Path, typer.Argument(help="Run folder.")],
    known: Annotated[str, typer.Option(help="Images of known classes; the run's own test set if left out.")] = "",
    foreign: Annotated[str, typer.Option(help="Images of no known class.")] = "",
    save: Annotated[Path | None, typer.Option("--out", help="Folder for table and figures.")] = None,
    root: Annotated[str, typer.Option(help="Folder with a benchmark's own files.")] = "",
    only: Annotated[str, typer.Option(help="Detectors with commas, e.g. knn,mds; all if left out.")] = "",
) -> None:
    """Compare all detectors on a trained run: table, score histograms and ROC curves."""
    if bool(known) != bool(foreign):
        raise ConfigError("give both --known and --foreign, or neither (the run's own test set)")
    target = save or folder / "detect"
    results = detect_run(folder, known, foreign, root, _names(only, DETECTORS), target)
    table = Table("detector", "fitted on", "AUROC", "FPR95", "AUPR known", "AUPR foreign", "seconds")
    for result in results:
        shares = [result.figures[name] for name in ("auroc", "fpr95", "aupr_known", "aupr_foreign")]
        cells = [f"{100 * share:.2f}" for share in shares]
        table.add_row(result.name, result.fitted_on, *cells, f"{result.seconds:.2f}")
    out.print(table)
    for result in results:
        if result.problem:
            out.print(f"{result.name}: {escape(result.problem)}", soft_wrap=True)
    out.print(f"table and figures: {target}", markup=False, soft_wrap=True)


@app.command()
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
    chosen = list(METHODS) if methods == "all" else _names(methods, METHODS) or list(METHODS)
    _check_overrides(settings or [], chosen)
    configs = {}
    for method in chosen:
        config = _config(source, preset_name, method, root, test)
        configs[method] = _scaled(config, epochs, frozen, _overrides(settings or [], method))
    planned = plan(configs, _numbers(seeds), folder)
    share = max(1, (os.cpu_count() or 1) // jobs) if jobs > 1 else 0
    runtime = RuntimeSettings(accelerator, threads=threads or share)
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


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for runs, figures and report.")] = Path("runs/demo"),
    seeds: Annotated[str, typer.Option(help="Training seeds, e.g. 0,1,2.")] = "0",
    threads: Annotated[int, typer.Option(help="CPU threads; 0 = PyTorch's choice.")] = 0,
) -> None:
    """Train plain cross-entropy and LOND-DRS on scikit-learn's digits with noisy labels and compare them."""
    comparison = run_demo(folder, _numbers(seeds), threads)
    table = Table("", *comparison.methods, title=comparison.title, caption=comparison.subtitle)
    for title, values in comparison.rows.items():
        table.add_row(title, *("–" if value is None else f"{100 * value:.1f} %" for value in values))
    out.print(table)
    out.print(f"figures: {folder / METRICS}\nreport:  {folder / REPORT}", soft_wrap=True)


app.command()(audit)
app.command()(apply)
app.command()(results)
app.command()(reproduce)


@app.command("list")
def list_names() -> None:
    """List presets, methods and benchmarks."""
    for title, names in (("presets", PRESETS), ("methods", METHODS), ("benchmarks", BENCHMARKS)):
        out.print(f"[bold]{title}[/bold]: {', '.join(names)}", soft_wrap=True)


def _config(source: str, preset_name: str, method: str, root: str, test: str) -> RunConfig:
    if bool(source) == bool(preset_name):
        raise ConfigError("give either SOURCE (your own images) or --preset NAME; `lond list` shows the presets")
    if test and not source:
        raise ConfigError("--test goes with SOURCE; a preset has its own test data")
    if source:
        return with_method(own_data(source, test), method)
    return with_root(preset(preset_name, method), root)


def _scaled(config: RunConfig, epochs: int | None, frozen: bool, overrides: dict[str, str]) -> RunConfig:
    """Return the configuration at the asked length, on frozen features if any setting is about them, overridden."""
    if frozen or any(key.startswith("data.frozen.") for key in overrides):
        config = on_frozen(config, FROZEN_EPOCHS if epochs is None else epochs)
    elif epochs is not None:
        config = with_epochs(config, epochs)
    return with_overrides(config, overrides)


def _own_test_set(run: LoadedRun, root: str) -> Samples:
    test = load_data(with_root(run.config, root))[1]
    if test is None:
        raise DataError("the run was trained without test data; name some with --data")
    # The folder may have gained classes since: the run's own count.
    return run.read(test)


def _make_room(file: Path | None) -> None:
    """Make the folder of a file to be written, before the work is done that would be lost without it."""
    if file is not None:
        if file.is_dir():
            raise ConfigError(f"--out {file} is a folder; name a file")
        file.parent.mkdir(parents=True, exist_ok=True)


def _names(text: str, known: Mapping[str, object]) -> list[str] | None:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"there is no {unknown[0]!r}; choose from: {', '.join(known)}")
    return names or None


def _numbers(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError as error:
        raise ConfigError(f"--seeds needs whole numbers with commas, e.g. 0,1,2, not {text!r}") from error


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise ConfigError(f"--set needs KEY=VALUE, not {text!r}; e.g. --set train.batch_size=64")
    return key.strip(), value.strip()


def _overrides(texts: list[str], method: str) -> dict[str, str]:
    """Return the settings for one method: those for all, and those that name it before a colon."""
    chosen = {}
    for text in texts:
        key, value = _pair(text)
        name, colon, rest = key.partition(":")
        if not colon or name == method:
            chosen[rest if colon else key] = value
    return chosen


def _check_overrides(texts: list[str], methods: list[str]) -> None:
    """Refuse settings of a comparison that would have no effect."""
    for text in texts:
        name, colon, rest = _pair(text)[0].partition(":")
        if colon and name not in methods:
            raise ConfigError(f"--set {text}: {name!r} is not among the methods {', '.join(methods)}")
        if (rest if colon else name) == "train.seed":
            raise ConfigError(f"--set {text}: seeds are set with --seeds")


def _print_verdicts(folder: Path) -> None:
    """Say what was judged, and what could not be read."""
    counts = Counter(read_columns(folder / VERDICTS)["verdict"])
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    out.print(f"verdicts on {counts.total()} images: {said} (verdicts.csv)", markup=False, soft_wrap=True)
    problems = read_json(folder / MANIFEST)["data"]["train"]["problems"]
    if problems:
        out.print(f"left out: {len(problems)} files or folders, with reasons in manifest.json", soft_wrap=True)


def _print_figures(title: str, figures: dict[str, float]) -> None:
    table = Table(title=escape(title), title_justify="left", show_header=False)
    for name, value in figures.items():
        if not (name.startswith("loss") or name.endswith(("_size", "_share"))):
            table.add_row(name.replace("_", " "), f"{100 * value:.2f} %")
    if table.row_count:
        out.print(table)


def main() -> None:
    """Run the command line; an error of the user's side is one line, without a trace."""
    warnings.showwarning = lambda message, *_: Console(stderr=True).print(
        f"note: {escape(str(message))}", soft_wrap=True
    )
    try:
        app()
    except (LondError, OSError) as error:
        line = " ".join(str(error).split())
        Console(stderr=True).print(f"[red]error:[/red] {escape(line)}", soft_wrap=True, highlight=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
