"""Steps, and how long the rest will take."""

from __future__ import annotations

import pytest

from lond.progress.events import Event, listening
from lond.progress.work import LEAST_SECONDS, LONG, Work, announce_steps, begin_step, overall, work_here


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_by_hand() -> None:
    clock = Clock()
    work = Work("audit", 4, clock=clock)
    work.begin("reading")
    assert work.seconds_left() is None
    clock.now = 10
    work.move(0.5)
    # Ten seconds are left of this step, and three more steps of twenty.
    assert work.seconds_left() == pytest.approx(10 + 3 * 20)
    clock.now = 20
    work.begin("training")
    clock.now = 70
    work.begin("training")
    clock.now = 85
    work.move(0.5)
    # Fifteen seconds of this step, and one more, as long as the fifty of the finished and the thirty of this one.
    assert work.seconds_left() == pytest.approx(15 + (50 + 30) / 2)


def test_costs_tell_how_long_other_steps_take() -> None:
    clock = Clock()
    work = Work("audit", clock=clock)
    work.announce(3, [10.0, 1.0, 4.0])
    work.begin("reading")
    clock.now = 10
    work.move(0.5)
    # Ten seconds of this step, which takes twenty for a cost of ten; five more of cost follow.
    assert work.seconds_left() == pytest.approx(10 + 5 * 2)
    work.begin("judging")
    work.begin("training")
    clock.now = 20
    work.move(0.5)
    assert work.seconds_left() == pytest.approx(10)
    work.announce(2, [1.0])
    assert work.seconds_left() == pytest.approx(10), "costs of another number of steps say nothing"


def test_what_comes_before_the_first_things_does_not_count() -> None:
    """Four seconds to load a network, then one for every hundredth of the images."""
    clock = Clock()
    work = Work("audit", 1, clock=clock)
    work.begin("reading")
    clock.now = 5
    work.move(0.01)
    assert work.seconds_left() is None
    clock.now = 7
    work.move(0.03)
    assert work.seconds_left() is None
    clock.now = 8
    work.move(0.04)
    assert work.seconds_left() == pytest.approx(96)


def test_slow_things_tell_after_some_seconds_and_the_first_ones_after_long() -> None:
    clock = Clock()
    work = Work("audit", 1, clock=clock)
    work.begin("reading")
    clock.now = 1
    work.move(0.01)
    clock.now = 1 + LEAST_SECONDS
    work.move(0.02)
    assert work.seconds_left() == pytest.approx(98 * LEAST_SECONDS)
    work.begin("training")
    clock.now += LONG
    work.move(0.1)
    assert work.seconds_left() == pytest.approx(9 * LONG)


def test_more_steps_than_announced_and_unknown_numbers() -> None:
    heard: list[Event] = []
    with listening(heard.append):
        work = Work("x", 1)
        work.begin("a")
        work.begin("b")
        unknown = Work("y")
        unknown.begin("a")
        unknown.move(0.5)
        unknown.announce(3)
        unknown.move(2.0, "detail")
        unknown.record({"loss": 1.0})
    assert [event.position for event in heard] == ["1 of 1", "2 of 2", "1", "1", "1 of 3", "1 of 3"]
    assert heard[3].seconds_left is None and heard[4].share == 1.0 and heard[4].detail == "detail"
    assert heard[5].record == {"loss": 1.0}


def test_parts_count_things() -> None:
    heard: list[Event] = []
    with listening(heard.append):
        part = Work("x", 1).part("reading")
        part(500, 2000)
        part(0, 0)
    assert (heard[1].name, heard[1].detail, heard[1].share) == ("reading", "500 of 2,000", 0.25)


def test_inner_work_is_a_step_of_the_outer_one(capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[Event] = []
    announce_steps(9)
    begin_step("nothing goes on")
    with listening(heard.append), overall("audit") as outer:
        announce_steps(3)
        begin_step("first")
        with work_here("training") as inner:
            assert inner is outer
            inner.begin("second")
        with work_here("training", show=False) as silent:
            silent.begin("alone")
    assert [(event.title, event.position, event.name) for event in heard] == [
        ("audit", "1 of 3", "first"),
        ("audit", "2 of 3", "second"),
        ("training", "1 of 1", "alone"),
    ]
    with work_here("training") as own:
        assert own.steps == 1
    assert capfd.readouterr() == ("", "")
