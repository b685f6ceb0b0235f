"""The progress bar: silent where nobody looks, informative where somebody does."""

from __future__ import annotations

import math

import pytest

from lond.train.progress import ProgressBar


def drive(show: bool | None) -> None:
    with ProgressBar("lond-drs", 2, show=show) as bar:
        for epoch in range(2):
            bar.move(epoch + 0.5, "warm-up")
            bar.move(epoch + 1, "warm-up")
            bar.show({"epoch": epoch, "loss": 1.25, "accuracy": 0.5, "auroc": None, "clean_precision": math.nan})


@pytest.mark.parametrize("show", [None, False])
def test_silent_off_a_terminal(show: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    drive(show)
    assert capfd.readouterr() == ("", "")


def test_shows_epoch_phase_and_figures_on_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    drive(True)
    out, err = capfd.readouterr()
    assert out == ""
    for part in ("lond-drs epoch 2/2 warm-up", "100%", "loss 1.250", "acc 50.0"):
        assert part in err


def test_it_ends_quietly_when_training_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="oops"), ProgressBar("x", 3, show=None):
        raise RuntimeError("oops")
    assert capfd.readouterr().err == ""


def test_the_last_step_belongs_to_its_epoch() -> None:
    bar = ProgressBar("x", 3, show=False)
    bar._shown = True
    bar.move(1.0, "p")
    assert "epoch 1/3" in bar._progress.tasks[0].description
