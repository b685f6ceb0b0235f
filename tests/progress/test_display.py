"""Progress for a person: silent where nobody looks, informative where somebody does."""

from __future__ import annotations

import logging
import math

import pytest

from lond.progress.display import CalmLines, duration, line_of, numbers_of
from lond.progress.events import Event
from lond.progress.work import overall

RECORD = {"epoch": 0, "loss": 1.25, "accuracy": 0.5, "auroc": None, "clean_precision": math.nan}


def drive(show: bool | None, lines: bool = False) -> None:
    with overall("training", 2, show=show, lines=lines) as work:
        for name in ("reading", "lond-drs"):
            work.begin(name)
            work.move(0.5, "epoch 1/2 warm-up")
            work.record(RECORD)
            work.move(1.0, "epoch 2/2 warm-up")


@pytest.mark.parametrize("show", [None, False])
def test_silent_off_a_terminal(show: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    drive(show)
    assert capfd.readouterr() == ("", "")


def test_one_bar_for_all_steps_on_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    drive(True)
    out, err = capfd.readouterr()
    assert out == ""
    for part in ("training  step 2 of 2: lond-drs epoch 2/2 warm-up", "100%", "loss 1.250", "acc 50.0"):
        assert part in err
    assert "left" not in err.splitlines()[-1], "nothing is left at the end"


def test_calm_lines_where_output_is_redirected(capfd: pytest.CaptureFixture[str]) -> None:
    drive(None, lines=True)
    lines = capfd.readouterr().err.splitlines()
    assert lines == ["training: step 1 of 2, reading", "training: step 2 of 2, lond-drs"]
    drive(False, lines=True)
    assert capfd.readouterr().err == ""


def test_lines_keep_their_pace() -> None:
    written: list[str] = []
    now = [0.0]
    lines = CalmLines(written.append, pace=30, clock=lambda: now[0])
    for second in range(0, 100, 7):
        now[0] = float(second)
        lines(Event("audit", 1, 3, "reading", f"{second}"))
    assert [line.split(", ")[-1] for line in written] == ["0", "35 (after 35 s)", "70 (after 1 min)"]
    lines(Event("audit", 2, 3, "training"))
    assert written[-1] == "audit: step 2 of 3, training (after 2 min)"


def test_the_first_estimate_of_long_work_is_not_kept_waiting() -> None:
    written: list[str] = []
    lines = CalmLines(written.append, pace=30, clock=lambda: 0.0)
    for left in (None, 100.0, 90.0):
        lines(Event("audit", 1, 3, "reading", seconds_left=left))
    lines(Event("audit", 2, 3, "judging"))
    lines(Event("audit", 2, 3, "judging", seconds_left=10.0))
    assert [line.split(", ")[-1] for line in written] == ["reading", "about 2 min left", "judging"]


def test_a_line_by_hand() -> None:
    event = Event("audit", 2, 3, "training", "epoch 4/9 robust", 0.4, 130.0, RECORD)
    assert line_of(event).startswith("audit: step 2 of 3, training, epoch 4/9 robust, 40 %, loss 1.250  acc 50.0")
    assert line_of(event).endswith("about 2 min left")
    assert line_of(Event("training", 1, 1, "sed")) == "training: sed"
    assert [duration(seconds) for seconds in (0.2, 40, 100, 4800)] == ["1 s", "40 s", "2 min", "1 h 20 min"]
    assert numbers_of({}) == ""


def test_the_log_hears_the_steps(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="lond"):
        drive(None)
    assert [record.message for record in caplog.records] == [
        "training: step 1 of 2, reading",
        "training: step 2 of 2, lond-drs",
    ]


def test_it_ends_quietly_when_the_work_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="oops"), overall("x"):
        raise RuntimeError("oops")
    assert capfd.readouterr().err == ""
