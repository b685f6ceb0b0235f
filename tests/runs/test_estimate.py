"""How long a run will take: arithmetic by hand, and rehearsals of every method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import lond.runs.estimate as estimate
from lond.data.benchmarks import EXTENTS, BenchmarkSettings, load_benchmark
from lond.methods import METHODS
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.features import on_frozen
from lond.presets.own_data import own_data
from lond.runs.estimate import (
    ROWS,
    Amount,
    Epoch,
    Rehearsal,
    Timed,
    amount_of,
    cores,
    device_of,
    duration,
    estimate_text,
    rehearse,
    run_seconds,
    threads_of,
)
from lond.train.runtime import RuntimeSettings
from lond.types import Phase

ONE = RuntimeSettings("cpu", threads=1)


def test_an_epoch_by_hand() -> None:
    config = preset("mini80-sym50", "dividemix")
    half = Timed(Phase("net1", {}, lead=ROWS[-1] // 2, share=0.5), update=1.0, sample=0.25)
    epoch = Epoch((half,), sample=0.1, pair=0.001)
    # 5,000 of 10,000 images in batches of 64 are 79 steps, of which 60 are made; a step is for 128 samples.
    assert epoch.seconds(config, 10_000) == pytest.approx(60 * (1 + 128 * 0.25) + 1_000 + 100_000)
    whole = replace(config, train=replace(config.train, max_steps=0))
    assert epoch.seconds(whole, 10_000) == pytest.approx(79 * 33 + 101_000)
    # A warm-up is not limited; a fixed number of steps is.
    warmup = Epoch((Timed(Phase("warm-up", {}, lead=ROWS[-1]), 0.0, 1.0),), 0.0, 0.0)
    assert warmup.seconds(config, 10_000) == 79 * 128
    fixed = Epoch((Timed(Phase("train", {}, lead=2, steps=900), 1.0, 0.0),), 0.0, 0.0)
    assert (fixed.seconds(config, 10_000), fixed.seconds(whole, 10_000)) == (60, 900)


def test_a_run_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = Epoch((), sample=0.001, pair=0.0), Epoch((), sample=0.01, pair=0.0)
    monkeypatch.setattr(estimate, "rehearse", lambda what: (first, last, 0.005))
    monkeypatch.setattr(estimate, "threads_of", lambda runtime: runtime.threads)
    config = preset("mini80-sym50")
    work = 10 * 10 + 20 * 100 + 30 * 0.2 * 50
    amount = amount_of(config)
    assert run_seconds(config, amount, ONE) == pytest.approx(1 + work)
    assert run_seconds(config, amount, RuntimeSettings("cpu", devices=2, threads=4)) == pytest.approx(1 + work / 8)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_rehearsed_to_its_last_phase(method: str) -> None:
    config = on_frozen(preset("cifar80n-sym50", method))
    first, last, predicted = rehearse(Rehearsal(method, config.net, amount_of(config).shape, "cpu", config))
    assert predicted > 0
    for epoch in (first, last):
        assert epoch.phases
        assert all(timed.sample > 0 and timed.update >= 0 for timed in epoch.phases)
    # Half of the labels are right: a method that judges them trusts some.
    assert not any(timed.phase.is_warmup for timed in last.phases)
    assert all(timed.phase.steps or timed.phase.lead > ROWS[-1] / 10 for timed in last.phases)


def test_large_images_are_timed_at_a_smaller_side(monkeypatch: pytest.MonkeyPatch) -> None:
    config = preset("cifar80n-sym50", "standard")
    config = replace(config, net=replace(config.net, width=0.125))
    amount = amount_of(config)
    small = run_seconds(config, replace(amount, shape=replace(amount.shape, size=(96, 96))), ONE)
    large = run_seconds(config, replace(amount, shape=replace(amount.shape, size=(384, 384))), ONE)
    assert 4 < large / small < 64


def test_a_rehearsal_leaves_no_trace() -> None:
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    config = preset("digits", "standard")
    run_seconds(config, amount_of(config), ONE)
    assert torch.equal(torch.random.get_rng_state(), before) and torch.get_num_threads() == threads


def test_runs_of_one_method_on_like_images_are_rehearsed_once() -> None:
    one, other = preset("mini80-sym50", "sed"), preset("mini80-asym40", "sed")
    shape = amount_of(one).shape
    assert one != other
    assert Rehearsal("sed", one.net, shape, "cpu", one) == Rehearsal("sed", other.net, shape, "cpu", other)


@pytest.mark.parametrize("name", PRESETS)
def test_the_extent_of_every_benchmark_is_known(name: str) -> None:
    amount = amount_of(preset(name))
    assert amount.images == EXTENTS[preset(name).data.benchmark.name].images
    assert amount_of(on_frozen(preset(name))).shape.size == (1, 1280)


def test_extents_are_those_of_the_data() -> None:
    held, extent = load_benchmark(BenchmarkSettings("digits")), EXTENTS["digits"]
    assert (len(held.train), len(held.test), held.train.num_classes) == (
        extent.images,
        extent.test_images,
        extent.classes,
    )
    assert held.train.pixels.size == (extent.side, extent.side)


def test_images_of_ones_own_are_counted(tmp_path: object) -> None:
    source = f"{tmp_path}/own.npz"
    np.savez(source, x=np.zeros((50, 20, 20, 3), dtype=np.uint8), y=np.arange(50) % 5)
    amount = amount_of(own_data(source))
    assert isinstance(amount, Amount)
    # A tenth is held out.
    assert (amount.images, amount.shape.size, len(amount.shape.class_names)) == (45, (20, 20), 5)


def test_times_for_readers() -> None:
    assert [duration(seconds) for seconds in (20, 600, 7200, 864_000)] == [
        "20 seconds", "10.0 minutes", "2.0 hours", "10.0 days",
    ]  # fmt: skip
    assert estimate_text(7200) == (
        "about 2.0 hours on this machine, measured now (rough; longer while other work shares its cores)"
    )
    assert device_of("cpu") == "cpu" and 1 <= threads_of(ONE) <= cores()
