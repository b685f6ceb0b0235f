"""How long the runs of a plan will take: what is stored tells first."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper.reproduce.fake import Fake, fake  # noqa: F401
from paper.reproduce.made import made_plan

import lond.paper.reproduce.estimate as estimate
from lond.paper.reproduce.estimate import estimated_seconds, stored_seconds
from lond.results.batch import carry_out
from lond.train.runtime import RuntimeSettings

ONE = RuntimeSettings("cpu", threads=1)


def test_a_stored_run_tells_better(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(estimate, "run_seconds", lambda *_: 1000.0)
    monkeypatch.setattr(estimate, "cores", lambda: 2)
    monkeypatch.setattr(estimate, "threads_of", lambda runtime: runtime.threads or 1)
    plan = made_plan("figure1", "smoke", ["LOND*"], [0], tmp_path)
    carry_out(plan.runs, tmp_path / "store")
    other = made_plan("figure1", "smoke", ["LOND*"], [1, 2], tmp_path)
    # Two epochs of 2.75 seconds each, four runs, two at a time.
    assert estimated_seconds(other.runs, tmp_path / "store", ONE, workers=2) == pytest.approx(11.0)
    # Two cores are no more than two, however many jobs share them.
    assert estimated_seconds(other.runs, tmp_path / "store", ONE, workers=4) == pytest.approx(11.0)
    both = RuntimeSettings("cpu", threads=2)
    # On two threads half as long, but then one at a time.
    assert estimated_seconds(other.runs, tmp_path / "store", both, workers=2) == pytest.approx(11.0)
    assert estimated_seconds(other.runs, tmp_path / "none") > 1000


def test_of_stored_runs_the_fastest_tells(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("figure1", "smoke", ["Ours with open*"], [0, 1], tmp_path)
    carry_out(plan.runs, tmp_path / "store")
    busy = next((tmp_path / "store").glob("*seed0*"))
    before = busy.read_text()
    busy.write_text(before.replace('"train": 4.0', '"train": 4000.0'))
    assert busy.read_text() != before
    third = made_plan("figure1", "smoke", ["Ours with open*"], [2], tmp_path)
    assert estimated_seconds(third.runs, tmp_path / "store", ONE) == pytest.approx(5.5)


def test_times_of_another_device_do_not_count(tmp_path: Path, fake: Fake) -> None:  # noqa: F811
    plan = made_plan("figure1", "smoke", ["Ours with open*"], [0], tmp_path)
    carry_out(plan.runs, tmp_path / "store")
    (variant,) = {run.variant for run in plan.runs}
    assert stored_seconds(tmp_path / "store", "cpu", 2) == {variant: pytest.approx(5.5 / 2)}
    assert stored_seconds(tmp_path / "store", "NVIDIA A100", 2) == {}


def test_the_folder_of_smoke_runs_need_not_be_there(tmp_path: Path) -> None:
    plan = made_plan("table3", "smoke", ["Standard", "web-car"], out=tmp_path)
    assert not Path(plan.runs[0].config.data.source).exists()
    assert 1 < estimated_seconds(plan.runs, tmp_path / "none", ONE) < 100
