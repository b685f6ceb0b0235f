"""Progress for a person: one bar on a terminal, calm lines elsewhere, and the log of Python."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from lond.progress.events import Event, Listener

WATCHED = {"accuracy": "acc", "auroc": "auroc", "clean_precision": "clean", "open_precision": "open"}
"""Entries of a record that are shown, with their short names."""

PACE = 30.0
"""Least seconds between two lines of the same step."""

logger = logging.getLogger("lond")
"""Gets a line a step and every half minute, on the level INFO."""


def numbers_of(record: dict[str, Any]) -> str:
    """Return the figures of an epoch that a person watches, in short."""
    parts = [f"loss {record['loss']:.3f}"] if "loss" in record else []
    known = {short: record[name] for name, short in WATCHED.items() if record.get(name) is not None}
    return "  ".join([*parts, *(f"{short} {100 * value:.1f}" for short, value in known.items())])


def duration(seconds: float) -> str:
    """Return a length of time in words, rounded: "40 s", "3 min", "1 h 20 min"."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Bar:
    """One bar for all steps."""

    def __init__(self, progress: Progress) -> None:
        """Draw with ``progress``."""
        self._progress = progress
        self._task = progress.add_task("", total=1.0, left="", numbers="")

    def __call__(self, event: Event) -> None:
        """Show the progress."""
        step = f"step {event.position}: " if event.steps > 1 else ""
        text = " ".join(part for part in (f"{event.title}  {step}{event.name}", event.detail) if part)
        done = event.step >= event.steps and event.share >= 1
        self._progress.update(
            self._task,
            total=float(max(event.steps, event.step, 1)),
            completed=event.step - 1 + event.share,
            description=escape(text),
            left="" if event.seconds_left is None or done else f"{duration(event.seconds_left)} left",
        )
        if event.record is not None:
            self._progress.update(self._task, numbers=escape(numbers_of(event.record)))


class CalmLines:
    """Writes a line when a step begins, when it can first tell how long it takes, and else every half minute.

    From a second on, lines tell how long the work has taken so far.
    """

    def __init__(
        self, write: Callable[[str], None], pace: float = PACE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Hand each line to ``write``."""
        self._write, self._pace, self._clock = write, pace, clock
        self._step = 0
        self._begun: float | None = None
        self._last = -float("inf")
        self._has_told = False

    def __call__(self, event: Event) -> None:
        """Write a line if one is due."""
        now = self._clock()
        self._begun = now if self._begun is None else self._begun
        is_new = event.step != self._step
        # What ends before the next line is due needs no estimate.
        tells = event.seconds_left is not None and event.seconds_left > self._pace
        first_told = tells and (is_new or not self._has_told)
        if not is_new and not first_told and now - self._last < self._pace:
            return
        self._step, self._last = event.step, now
        self._has_told = tells or (self._has_told and not is_new)
        spent = now - self._begun
        self._write(line_of(event) + (f" (after {duration(spent)})" if spent >= 1 else ""))


def line_of(event: Event) -> str:
    """Return the progress as a line of text."""
    left = "" if event.seconds_left is None else f"about {duration(event.seconds_left)} left"
    step = f"step {event.position}, {event.name}" if event.steps > 1 else event.name
    share = f"{100 * event.share:.0f} %" if event.share else ""
    numbers = "" if event.record is None else numbers_of(event.record)
    return f"{event.title}: " + ", ".join(part for part in (step, event.detail, share, numbers, left) if part)


@contextmanager
def shown(show: bool | None = None, *, lines: bool = False) -> Iterator[list[Listener]]:
    """Give the listeners that show progress; see ``lond.progress.work.overall``."""
    console = Console(stderr=True)
    listeners: list[Listener] = [CalmLines(logger.info)]
    if lines and show is None and not console.is_terminal:
        yield [*listeners, CalmLines(lambda text: print(text, file=sys.stderr, flush=True))]
        return
    if not (console.is_terminal if show is None else show):
        yield listeners
        return
    columns = (
        *(TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.percentage:>3.0f}%")),
        *(TimeElapsedColumn(), TextColumn("{task.fields[left]}"), TextColumn("[dim]{task.fields[numbers]}")),
    )
    with Progress(*columns, console=console) as progress:
        yield [*listeners, Bar(progress)]
