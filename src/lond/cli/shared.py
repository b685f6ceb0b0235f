"""What several commands share: the console, lists given with commas, and tables nobody folds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lond.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lond.results.tables import Table as Results

    LazyConsole = Console
else:

    class LazyConsole:
        """A console that is made when it is first used: help and lists do without."""

        def __init__(self, **options: Any) -> None:
            self._options = options

        def __getattr__(self, name: str) -> Any:
            from rich.console import Console

            if "_console" not in self.__dict__:
                self._console = Console(**self._options)
            return getattr(self._console, name)


out = LazyConsole()

WIDE = 400
"""Columns of a table that goes into a file or another program."""

Accelerator = Annotated[str, typer.Option(help="Device: auto, cpu, gpu, cuda or mps.")]
"""Option of every command that computes."""

Threads = Annotated[int, typer.Option(help="CPU threads; 0 = PyTorch's default.")]
"""Option of every command that computes in one process."""

Root = Annotated[str, typer.Option(help="Folder with the benchmark's files.")]
TestData = Annotated[str, typer.Option("--test", help="Test data, if not a split of SOURCE.")]
Frozen = Annotated[bool, typer.Option("--frozen", help="Train on features of a frozen network; minutes on a CPU.")]
FrozenNetwork = Annotated[
    str, typer.Option(help="Frozen network, with --frozen: efficientnet-lite0 to -lite2 or timm:<model>.")
]
Whole = Annotated[
    bool | None,
    typer.Option(
        "--whole/--centre",
        help="Let the frozen network see all pictures whole, padded to squares (implies --frozen), or centre squares.",
    ),
]
TrainedOn = Annotated[str, typer.Option(help="Device: auto, cpu, gpu, cuda or mps.")]
"""Options of the commands that train runs."""

LogTo = Annotated[list[str] | None, typer.Option("--log-to", help="Also log to tensorboard, mlflow or wandb.")]

STORE = Path("results/store")
"""The results store of commands that are given none."""


def say(text: str) -> None:
    """Print a line as it is."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def starting(command: str) -> None:
    """Say on a terminal that a command has begun, before it loads libraries, which takes seconds."""
    if sys.stdout.isatty():
        typer.echo(f"{command}: starting")


def note(text: str) -> None:
    """Print a note, without characters that move a terminal's cursor or change its colours."""
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    out.print(f"note: {plain}", markup=False, emoji=False, highlight=False, soft_wrap=True)


@contextmanager
def resumable(told_reused: Callable[[], str] = str) -> Iterator[None]:
    """End the command with advice, and what of the work is reused, if a person interrupts what is done meanwhile."""
    try:
        yield
    except KeyboardInterrupt:
        reused = told_reused()
        say(f"stopped; run the same command to resume{f' ({reused})' if reused else ''}")
        raise typer.Exit(130) from None


def print_whole(table: Table) -> None:
    """Print a table; where nobody looks at a screen no name in it is broken."""
    (out if out.is_terminal else LazyConsole(width=WIDE)).print(table)


def print_table(results: Results, title: str = "", left_out: Collection[str] = ()) -> None:
    """Print a table of results, without some columns and without empty ones; a terminal folds a wide one."""
    from rich.markup import escape
    from rich.table import Column, Table

    from lond.results.tables import NONE

    texts = results.texts()
    used = [
        at
        for at, column in enumerate(results.columns)
        if column.name not in left_out and any(row[at] != NONE for row in texts)
    ]
    table = Table(*(Column(escape(results.columns[at].title), overflow="fold") for at in used))
    for row in texts:
        table.add_row(*(escape(row[at]) for at in used))
    if title:
        say(title)
    print_whole(table)


def print_figures(title: str, figures: Mapping[str, float]) -> None:
    """Print shares in percent; losses and sizes are for the log."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", show_header=False)
    for name, value in figures.items():
        if not (name.startswith("loss") or name.endswith(("_size", "_share"))):
            table.add_row(name.replace("_", " "), f"{100 * value:.2f} %")
    if table.row_count:
        out.print(table)


def split(text: str) -> list[str]:
    """Return the parts of a text between its commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def known_names(text: str, known: Collection[str]) -> list[str] | None:
    """Return the names between the commas, None if there are none.

    Raises:
        ConfigError: one of them is unknown.
    """
    names = split(text)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"there is no {unknown[0]!r}; choose from: {', '.join(known)}")
    return names or None


def seed_numbers(text: str) -> list[int]:
    """Return the seeds between the commas, each once.

    Raises:
        ConfigError: one of them is no whole number, or negative.
    """
    try:
        seeds = list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError as error:
        raise ConfigError(f"--seeds needs whole numbers with commas, e.g. 0,1,2, not {text!r}") from error
    if min(seeds) < 0:
        raise ConfigError(f"--seeds must not be negative, not {text!r}")
    return seeds


def make_folder(folder: Path, option: str) -> None:
    """Make the folder of an option before any work.

    Raises:
        ConfigError: it is a file, or cannot be made or written to.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{option} {folder} is a file; name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{option} {folder} cannot be made: {error.strerror}; name another folder") from error
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{option} {folder} cannot be written to; name another folder")


def threads_of_a_run(asked: int, jobs: int) -> int:
    """Return the threads of each of ``jobs`` runs at a time: as asked, else its part of the cores (0: PyTorch's)."""
    return asked or (max(1, (os.cpu_count() or 1) // jobs) if jobs > 1 else 0)
