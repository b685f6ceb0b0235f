"""How long it will take: arithmetic by hand, and a measured pass."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
from paper.reproduce.fake import Fake, fake  # noqa: F401
from paper.reproduce.made import made_plan

import lond.paper.reproduce.estimate as estimate
from lond.config import NetSettings
from lond.methods import METHODS
from lond.paper.reproduce.estimate import (
    MEASURED,
    PASSES,
    cores,
    device_of,
    duration,
    estimate_text,
    estimated_seconds,
    fastest,
    pass_seconds,
    passes,
    run_seconds,
    stored_seconds,
)
from lond.paper.reproduce.searching import SEARCHES, one_search, search_seconds
from lond.presets.benchmarks import preset
from lond.results.batch import carry_out
from lond.train.runtime import RuntimeSettings

ONE = RuntimeSettings("cpu", threads=1)


def test_passes_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PASSES.keys() == METHODS.keys()
    config = preset("cifar80n-sym80")
    assert passes(config) == pytest.approx(50 * 2.2 + 250 * 11 + 300 * 0.1)
    # 60 steps of 128 of 10,000 images.
    mini = preset("mini80-sym50", "dividemix")
    later = mini.train.epochs - mini.settings.warmup_epochs
    assert passes(mini) == pytest.approx(mini.settings.warmup_epochs * 2 + later * 8 * 0.768 + 30 * 0.1)
    monkeypatch.setattr(estimate, "pass_seconds", lambda *_: 0.001)
    monkeypatch.setattr(estimate, "search_seconds", lambda *_: 80.0)
    assert run_seconds(config) == pytest.approx(1 + passes(config) * 50 + 80)
    assert run_seconds(config, threads=4) == pytest.approx(1 + passes(config) * 50 / 4 + 20)
    # What a device other than the CPU takes has nothing to do with threads, and it searches in no time.
    assert run_seconds(config, "cuda", 4) == run_seconds(config) - 80


def test_every_scale_can_be_measured() -> None:
    assert pass_seconds(NetSettings(width=0.125), (1, 16, 16)) > 0
    for scale in ("frozen", "smoke"):
        assert run_seconds(made_plan("table3", scale, ["SED", "web-car"]).runs[0].config) > 1


def test_a_stored_run_tells_better(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(estimate, "pass_seconds", lambda *_: 1000.0)
    monkeypatch.setattr(estimate, "cores", lambda: 2)
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


def test_a_busy_moment_does_not_count() -> None:
    times = iter([0.0, 9.0, 10.0, 10.5, 20.0, 20.25, 30.0, 31.0, 40.0, 45.0])
    steps: list[int] = []
    assert fastest(lambda: steps.append(1), lambda: next(times), at_least=0.0) == 0.25
    assert len(steps) == MEASURED == 5
    # Short steps are repeated.
    assert 0 <= fastest(lambda: steps.append(1), time.process_time, at_least=0.05) < 0.05
    assert len(steps) > 2 * MEASURED


def test_time_that_others_take_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that waits for its turn takes no CPU time, and threads are put back as they were."""
    before = torch.get_num_threads()
    seen: list[int] = []

    class Waits(torch.nn.Linear):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(torch.get_num_threads())
            time.sleep(0.2)
            return super().forward(images.flatten(1))

    class Backbone:
        module = Waits(4, 2)

    monkeypatch.setattr(estimate, "build_backbone", lambda *_, **__: Backbone)
    assert pass_seconds.__wrapped__(NetSettings(), (1, 2, 2)) < 0.2 / 16 / 2
    assert seen == [1] * MEASURED and torch.get_num_threads() == before
    assert cores() >= 1


def test_times_for_readers() -> None:
    assert [duration(seconds) for seconds in (20, 600, 7200, 864_000)] == [
        "20 seconds", "10.0 minutes", "2.0 hours", "10.0 days",
    ]  # fmt: skip
    assert estimate_text(7200) == (
        "about 2.0 hours on this machine, measured now (rough; longer while other work shares its cores)"
    )
    assert device_of("cpu") == "cpu"


def test_searches_grow_with_the_square_of_the_images() -> None:
    times: list[float] = []

    def fastest_of(step: object, clock: object) -> float:
        times.append(1.0)
        return 0.5

    config = made_plan("table1", "frozen", ["NCE", "cifar80n", "sym80"]).runs[0].config
    robust = config.train.epochs - config.settings.warmup_epochs
    assert search_seconds(config, 6400, fastest_of) == pytest.approx(robust * 2.5 * 0.5 * 6400 / 64)
    plain = made_plan("table1", "frozen", ["Standard", "cifar80n", "sym80"]).runs[0].config
    assert search_seconds(plain, 6400, fastest_of) == 0.0 and times == [1.0]
    warmup = made_plan("table4", "frozen", ["(1).Warmup", "sym80"]).runs[0].config
    assert search_seconds(warmup, 6400, fastest_of) == 0.0
    assert SEARCHES.keys() <= METHODS.keys()
    # Fewer images than are asked for at once.
    assert one_search(10, 4, 20, fastest) > 0
