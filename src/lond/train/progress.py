"""One progress bar with the numbers a person watches; silent when nobody is looking."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

WATCHED = {"accuracy": "acc", "auroc": "auroc", "clean_precision": "clean", "open_precision": "open"}
"""Log entries shown in the bar, with their short names."""


class ProgressBar:
    """Shows epochs and steps on a terminal; does nothing otherwise."""

    def __init__(self, label: str, epochs: int, *, show: bool | None = None) -> None:
        """Prepare the bar; ``show`` None means: if standard error is a terminal."""
        console = Console(stderr=True)
        self._shown = console.is_terminal if show is None else show
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[numbers]}"),
            console=console,
            disable=not self._shown,
        )
        self._label, self._epochs = label, epochs
        self._task: TaskID = self._progress.add_task(label, total=float(epochs), numbers="")

    def __enter__(self) -> Self:
        """Start drawing."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing."""
        self._progress.stop()

    def move(self, time: float, phase: str) -> None:
        """Show that ``time`` epochs are done."""
        if self._shown:
            epoch = math.ceil(time)
            text = f"{self._label} epoch {epoch}/{self._epochs} {phase}"
            self._progress.update(self._task, completed=time, description=text)

    def show(self, record: dict[str, Any]) -> None:
        """Show the numbers of a finished epoch."""
        parts = [f"loss {record['loss']:.3f}"] if "loss" in record else []
        known = {short: record[name] for name, short in WATCHED.items() if record.get(name) is not None}
        parts += [f"{short} {100 * value:.1f}" for short, value in known.items()]
        self._progress.update(self._task, numbers="  ".join(parts))


@contextmanager
def named_bars(show: bool | None = None) -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Give progress bars by name on standard error; ``show`` None means: if it is a terminal.

    Each is called with (images done, images in all).
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    shown = console.is_terminal if show is None else show
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:

        def bar(name: str) -> Callable[[int, int], None]:
            task = progress.add_task(name, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield bar
