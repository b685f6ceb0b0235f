"""The program: all commands in their order, and what every one of them does with an error or a warning."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from lond import __version__
from lond.cli.apply import apply
from lond.cli.audit import audit
from lond.cli.compare import compare
from lond.cli.demo import demo
from lond.cli.detect import detect
from lond.cli.exchange import audit_export, audit_import
from lond.cli.export import export
from lond.cli.reproduce import reproduce
from lond.cli.results import results
from lond.cli.shared import LazyConsole
from lond.cli.train import train
from lond.cli.trained import calibrate, evaluate, predict
from lond.errors import LondError
from lond.lazy import keys_of

HOMES = {
    "presets": ("lond.presets.benchmarks", "PRESETS"),
    "methods": ("lond.methods", "METHODS"),
    "detectors": ("lond.detect", "DETECTORS"),
    "backbones": ("lond.nets.backbones", "BACKBONES"),
    "benchmarks": ("lond.data.benchmarks", "BENCHMARKS"),
}
"""What is listed -> module and dictionary that hold it; loading them takes seconds, reading their source does not."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Framed help would load rich, which takes longer than all the rest.
    rich_markup_mode=None,
    help=("Find label errors and foreign images in image folders, and train classifiers that are robust to both."),
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lond {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take what stands before the command."""


COMMANDS = (
    *(train, evaluate, predict, calibrate, export, detect, compare, demo),
    *(audit, apply, audit_export, audit_import, results, reproduce),
)
SHORT_HELP = {
    "train": "Train on your own data or on a benchmark.",
    "evaluate": "Evaluate a trained run on labelled images.",
    "predict": "Classify new images with a trained run.",
    "calibrate": "Set a run's threshold on checked images.",
    "export": "Export a run to ONNX, PyTorch or safetensors.",
    "detect": "Compare detectors of foreign images on a run.",
    "compare": "Train several methods and compare them.",
    "demo": "Compare methods on noisy digits, and audit them.",
    "audit": "Find label errors and foreign images.",
    "apply": "Show or create the corrected set of an audit.",
    "audit_export": "Export an audit to another tool.",
    "audit_import": "Import decisions from another tool.",
    "results": "Show, compare and add stored results.",
    "reproduce": "Reproduce tables and figures of the paper.",
}
"""Command -> one line that fits a terminal of 80 columns."""

for command in COMMANDS:
    app.command(short_help=SHORT_HELP[command.__name__])(command)


@app.command("list", short_help="List presets, methods, detectors and backbones.")
def list_names() -> None:
    """List presets, methods, detectors, backbones and benchmarks; those of other packages with their package."""
    from importlib.metadata import entry_points

    installed = entry_points()
    for title, home in HOMES.items():
        others = [
            f"{point.name} ({point.dist.name} {point.dist.version})"
            for point in installed.select(group=f"lond.{title}")
            if point.dist
        ]
        typer.echo(f"{typer.style(title, bold=True)}: {', '.join([*keys_of(*home), *sorted(others)])}")


def main() -> None:
    """Run the command line; an error of the user's side is one line, without a trace."""
    notes = LazyConsole(stderr=True)

    def note(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        # Conversion mutes the tracer, but threads that read images put their own filters of warnings back meanwhile.
        if category.__name__ != "TracerWarning":
            notes.print(f"note: {message}", soft_wrap=True, markup=False)

    warnings.showwarning = note
    try:
        app()
    except (LondError, OSError) as error:
        from rich.markup import escape

        line = " ".join(str(error).split())
        notes.print(f"[red]error:[/red] {escape(line)}", soft_wrap=True, highlight=False)
        sys.exit(2)
