"""How long it will take: arithmetic by hand, and a measured pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduce.fake import Fake, fake  # noqa: F401
from reproduce.made import made_plan

import lond.reproduce.estimate as estimate
from lond.config import NetSettings
from lond.methods import METHODS
from lond.presets import preset
from lond.reproduce.estimate import PASSES, device_of, duration, estimated_seconds, pass_seconds, passes, run_seconds
from lond.reproduce.running import carry_out


def test_passes_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PASSES.keys() == METHODS.keys()
    config = preset("cifar80n-sym80")
    assert passes(config) == pytest.approx(50 * 2.2 + 250 * 11 + 300 * 0.1)
    # 60 steps of 128 of 10,000 images.
    mini = preset("mini80-sym50", "dividemix")
    later = mini.train.epochs - mini.settings.warmup_epochs
    assert passes(mini) == pytest.approx(mini.settings.warmup_epochs * 2 + later * 8 * 0.768 + 30 * 0.1)
    monkeypatch.setattr(estimate, "pass_seconds", lambda *_: 0.001)
    assert run_seconds(config) == pytest.approx(1 + passes(config) * 50)


def test_every_scale_can_be_measured() -> None:
    assert pass_seconds(NetSettings(width=0.125), (1, 16, 16)) > 0
    for scale in ("frozen", "smoke"):
        assert run_seconds(made_plan("table3", scale, ["SED", "web-car"]).runs[0].config) > 1


def test_a_stored_run_tells_better(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(estimate, "pass_seconds", lambda *_: 1000.0)
    plan = made_plan("figure1", "smoke", ["LOND*"], [0], tmp_path)
    carry_out(plan, tmp_path / "store", "data")
    other = made_plan("figure1", "smoke", ["LOND*"], [1, 2], tmp_path)
    # Two epochs of 2.75 seconds each, four runs, two at a time.
    assert estimated_seconds(other.runs, tmp_path / "store", workers=2) == pytest.approx(11.0)
    assert estimated_seconds(other.runs, tmp_path / "none") > 1000


def test_times_for_readers() -> None:
    assert [duration(seconds) for seconds in (20, 600, 7200, 864_000)] == [
        "20 seconds", "10.0 minutes", "2.0 hours", "10.0 days",
    ]  # fmt: skip
    assert device_of("cpu") == "cpu"
