"""Progress events of long work, and their listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """Progress of long work.

    Attributes:
        title: the work as a whole.
        step: number of the current step, from 1 on.
        steps: how many there will be; 0 if that is not known.
        name: what the step does.
        detail: where in the step, in words.
        share: how much of the step is done, in [0, 1].
        seconds_left: until all steps are done; None if that cannot be told yet.
        record: the figures of an epoch that has just ended, else None.
    """

    title: str
    step: int
    steps: int
    name: str
    detail: str = ""
    share: float = 0.0
    seconds_left: float | None = None
    record: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def position(self) -> str:
        """The number of the step, "3 of 6" or "3"."""
        return f"{self.step} of {self.steps}" if self.steps else str(self.step)


Listener = Callable[[Event], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("lond progress listeners", default=())


@contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Let functions hear every event of the work that is done meanwhile, in this thread.

    Examples:
        >>> from lond.progress.events import Event, listening, tell
        >>> heard = []
        >>> with listening(heard.append):
        ...     tell(Event("audit", 1, 2, "reading", share=0.5))
        >>> heard[0].position
        '1 of 2'
    """
    token = _listeners.set((*_listeners.get(), *listeners))
    try:
        yield
    finally:
        _listeners.reset(token)


def tell(event: Event) -> None:
    """Tell everyone who listens."""
    for listener in _listeners.get():
        listener(event)


def flat_numbers(record: dict[str, Any], before: str = "") -> dict[str, float]:
    """Return the numbers of a record by name, those of an inner one as "outer/inner"; the epoch is left out."""
    found: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= flat_numbers(value, f"{before}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and (before or name != "epoch"):
            found[f"{before}{name}"] = float(value)
    return found
