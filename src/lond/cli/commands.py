"""The program: all commands in their order, and what every one of them does with an error or a warning."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from lond import __version__
from lond.cli.audit import apply, audit
from lond.cli.compare import compare
from lond.cli.demo import demo
from lond.cli.detect import detect
from lond.cli.reproduce import reproduce
from lond.cli.results import results
from lond.cli.shared import out
from lond.cli.train import train
from lond.cli.trained import calibrate, evaluate, predict
from lond.data.benchmarks import BENCHMARKS
from lond.detect import ALL_DETECTORS
from lond.errors import LondError
from lond.methods import ALL_METHODS
from lond.nets import ALL_BACKBONES
from lond.presets.benchmarks import PRESETS
from lond.registry import Registry

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=(
        "Learn from images with unreliable labels: a classifier for the known classes, a detector for everything else."
    ),
)


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


for command in (train, evaluate, predict, calibrate, detect, compare, demo, audit, apply, results, reproduce):
    app.command()(command)


@app.command("list")
def list_names() -> None:
    """List presets, methods, benchmarks, detectors and backbones; those of other packages with their package."""
    groups = {"presets": list(PRESETS), "benchmarks": list(BENCHMARKS)}
    registries: tuple[Registry[Any], ...] = (ALL_METHODS, ALL_DETECTORS, ALL_BACKBONES)
    for registry in registries:
        packages = registry.packages()
        groups[f"{registry.kind}s"] = [f"{name} ({packages[name]})" if name in packages else name for name in registry]
    for title, names in groups.items():
        out.print(f"[bold]{title}[/bold]: {', '.join(names)}", soft_wrap=True)


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
