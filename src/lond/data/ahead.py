"""Iterate one step ahead in a separate thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")

WAIT = 0.1
"""Seconds after which a thread with a full queue looks whether anybody still wants its items."""


def ahead(items: Iterator[T], depth: int = 2) -> Generator[T, None, None]:
    """Yield the items in their order, up to ``depth`` of them made while the caller is busy with earlier ones.

    What making an item raises is raised where the item would have come. Closing the generator stops the thread.
    """
    ready: queue.Queue[tuple[T] | None] = queue.Queue(depth)
    stopped = threading.Event()
    errors: list[BaseException] = []

    def put(item: tuple[T] | None) -> None:
        while not stopped.is_set():
            try:
                return ready.put(item, timeout=WAIT)
            except queue.Full:
                continue

    def make() -> None:
        try:
            for item in items:
                put((item,))
                if stopped.is_set():
                    break
        except BaseException as error:
            errors.append(error)
        put(None)

    maker = threading.Thread(target=make, daemon=True, name="ahead")
    maker.start()
    try:
        while (item := ready.get()) is not None:
            yield item[0]
        if errors:
            raise errors[0]
    finally:
        stopped.set()
        maker.join()
