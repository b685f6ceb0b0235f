"""Long work in steps: which one it is at, how far, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from lond.progress.display import shown
from lond.progress.events import Event, Listener, tell

LEAST_SHARE = 0.03
"""Share of a step that must be done after its first things before it tells how long it will take, ..."""

LEAST_SECONDS = 5.0
"""... unless it has gone on for so long since then."""

MUCH, LONG = 0.5, 60.0
"""Share of a step, or seconds, from which on its first things alone tell. They take longer than others, as networks are
loaded and files opened meanwhile."""

Progress = Callable[[int, int], None]
"""Called with (things done, things in all)."""


class Work:
    """Counts steps, shows them on its own displays and tells listeners; ``clock`` gives seconds."""

    def __init__(
        self,
        title: str,
        steps: int = 0,
        displays: Sequence[Listener] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin before the first step; ``steps`` is 0 if their number is not known."""
        self.title, self.steps, self._displays = title, steps, displays
        self._clock = clock
        self._step, self._name, self._share = 0, "", 0.0
        self._begun = clock()
        self._first: tuple[float, float] | None = None
        self._lengths: list[tuple[str, float]] = []
        self._costs: tuple[float, ...] = ()

    def announce(self, steps: int, costs: Sequence[float] = ()) -> None:
        """Say how many steps there will be in all, and perhaps how long they take in relation to each other."""
        self.steps = max(steps, self._step)
        self._costs = tuple(costs) if len(costs) == self.steps else ()

    def begin(self, name: str) -> None:
        """End the current step, if there is one, and begin the next."""
        now = self._clock()
        if self._step:
            self._lengths.append((self._name, now - self._begun))
        self._step, self._name, self._share, self._begun = self._step + 1, name, 0.0, now
        self._first = None
        if self.steps:
            self.steps = max(self.steps, self._step)
        self._tell("")

    def move(self, share: float, detail: str = "") -> None:
        """Say how much of the step is done."""
        self._share = min(1.0, max(0.0, share))
        if self._first is None and self._share:
            self._first = self._share, self._clock()
        self._tell(detail)

    def record(self, record: dict[str, Any]) -> None:
        """Hand on the figures of an epoch that has ended."""
        self._tell("", record)

    def part(self, name: str) -> Progress:
        """Begin a step and return the function that is called with (things done, things in all)."""
        self.begin(name)
        return lambda done, total: self.move(done / max(1, total), f"{done:,} of {total:,}")

    def seconds_left(self) -> float | None:
        """Return how long the rest will take; None if that cannot be told yet.

        The current step goes on at its pace. Each further one is taken to last as long as its announced cost says, or,
        without costs, as the finished steps of the same name did on average, or as the current one.
        """
        whole = self._seconds_of_step()
        if whole is None:
            return None
        left = whole * (1 - self._share)
        if len(self._costs) == self.steps:
            pace = whole / self._costs[self._step - 1]
            return left + pace * sum(self._costs[self._step :])
        same = [length for name, length in self._lengths if name == self._name]
        usual = (sum(same) + whole) / (len(same) + 1)
        return left + (self.steps - self._step) * usual

    def _seconds_of_step(self) -> float | None:
        """Return how long the current step takes at its pace, without what came before its first things were done."""
        if not self.steps or self._first is None:
            return None
        (share, then), now = self._first, self._clock()
        more = self._share - share
        if more > 0 and (more >= LEAST_SHARE or now - then >= LEAST_SECONDS):
            return (now - then) / more
        spent = now - self._begun
        return spent / self._share if self._share >= MUCH or spent >= LONG else None

    def _tell(self, detail: str, record: dict[str, Any] | None = None) -> None:
        left = self.seconds_left()
        event = Event(self.title, self._step, self.steps, self._name, detail, self._share, left, record)
        for display in self._displays:
            display(event)
        tell(event)


_current: ContextVar[Work | None] = ContextVar("lond work", default=None)


@contextmanager
def overall(title: str, steps: int = 0, *, show: bool | None = None, lines: bool = False) -> Iterator[Work]:
    """Give work whose steps, also those begun deep inside, are shown as one.

    Args:
        title: what the whole is.
        steps: how many there will be, if that is known.
        show: whether to show a bar on standard error; None: if it is a terminal.
        lines: whether to write calm lines in place of the bar where standard error is no terminal.
    """
    with ExitStack() as stack:
        work = Work(title, steps, stack.enter_context(shown(show, lines=lines)))
        token = _current.set(work)
        stack.callback(_current.reset, token)
        yield work


@contextmanager
def work_here(title: str, *, show: bool | None = None) -> Iterator[Work]:
    """Give the work that is going on, or, if there is none or nothing may be shown, a new one of a single step."""
    work = _current.get()
    if work is not None and show is not False:
        yield work
        return
    with overall(title, 1, show=show) as own:
        yield own


def announce_steps(steps: int, costs: Sequence[float] = ()) -> None:
    """Say how many steps the work that is going on will have, and their costs; nothing happens without one."""
    if (work := _current.get()) is not None:
        work.announce(steps, costs)


def begin_step(name: str) -> None:
    """Begin a step of the work that is going on; nothing happens without one."""
    if (work := _current.get()) is not None:
        work.begin(name)
