"""Work done ahead: order, errors, how far ahead, and that nothing stays behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from lond.data.ahead import ahead


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "ahead"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_all_items_in_order(count: int) -> None:
    assert list(ahead(iter(range(count)))) == list(range(count))
    assert not threads()


def test_none_is_an_item_like_any_other() -> None:
    assert list(ahead(iter([None, 1, None]))) == [None, 1, None]


def test_an_error_comes_where_its_item_would_have() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no second item")

    made = ahead(items())
    assert next(made) == 1
    with pytest.raises(ValueError, match="no second item"):
        next(made)
    assert not threads()


def test_no_further_ahead_than_the_depth() -> None:
    begun: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            begun.append(item)
            yield item

    made = ahead(items(), depth=3)
    next(made)
    time.sleep(0.3)
    # One is with the caller, three wait, and one is made and finds no room.
    assert len(begun) == 5
    made.close()
    assert not threads()


def test_items_are_made_while_the_caller_is_busy() -> None:
    second = threading.Event()

    def items() -> Iterator[int]:
        yield 0
        second.set()
        yield 1

    made = ahead(items())
    next(made)
    assert second.wait(5), "the second item was not begun before it was asked for"
    made.close()


def test_a_caller_that_stops_leaves_no_thread() -> None:
    for item in ahead(iter(range(1000))):
        if item == 3:
            break
    deadline = time.monotonic() + 5
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not threads()
