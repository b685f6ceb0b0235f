"""Who hears what."""

from __future__ import annotations

import pytest

from lond.progress.events import Event, flat_numbers, listening, tell

EVENT = Event("audit", 3, 6, "reading", share=0.5)


def test_listeners_hear_while_they_listen() -> None:
    outer: list[Event] = []
    inner: list[Event] = []
    tell(EVENT)
    with listening(outer.append):
        with listening(inner.append, inner.append):
            tell(EVENT)
        tell(EVENT)
        with pytest.raises(RuntimeError), listening(inner.append):
            raise RuntimeError
    tell(EVENT)
    assert (len(outer), len(inner)) == (2, 2)


def test_the_position_in_words() -> None:
    assert EVENT.position == "3 of 6" and Event("x", 2, 0, "y").position == "2"


def test_numbers_of_records_are_flat() -> None:
    record = {
        "epoch": 3,
        "loss": 0.5,
        "phase": "warm-up",
        "seconds": {"train": 1, "epoch": 2.0},
        "done": True,
        "none": None,
    }
    assert flat_numbers(record) == {"loss": 0.5, "seconds/train": 1.0, "seconds/epoch": 2.0}
