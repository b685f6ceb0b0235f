"""How long a run will take: arithmetic by hand, and one real measurement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import lond.runs.estimate as estimate
from lond.config import NetSettings
from lond.data.benchmarks import EXTENTS, BenchmarkSettings, load_benchmark
from lond.methods import METHODS, Standard, register
from lond.presets.benchmarks import PRESETS, preset
from lond.presets.features import on_frozen
from lond.presets.own_data import own_data
from lond.runs.estimate import (
    Amount,
    amount_of,
    cores,
    duration,
    estimate_text,
    pass_seconds,
    run_seconds,
    search_seconds,
    threads_of,
)
from lond.train.runtime import RuntimeSettings

ONE = RuntimeSettings("cpu", threads=1)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image takes a hundredth of a second, a search 100 seconds."""
    monkeypatch.setattr(estimate, "pass_seconds", lambda *_: 0.01)
    monkeypatch.setattr(estimate, "search_seconds", lambda *_: 100.0)
    monkeypatch.setattr(estimate, "threads_of", lambda runtime: runtime.threads)


@pytest.mark.usefixtures("by_hand")
def test_a_run_by_hand() -> None:
    config = preset("mini80-sym50")
    amount = amount_of(config)
    # 10 epochs of warm-up and 20 more, each 2.2 and 11 passes over 10,000 images; 1.2 searches in each of the 20.
    work = 100 * (10 * 2.2 + 20 * 11 + 30 * 0.1) + 20 * 1.2 * 100
    assert run_seconds(config, amount, ONE) == pytest.approx(1 + work)
    assert run_seconds(config, amount, RuntimeSettings("cpu", devices=2, threads=4)) == pytest.approx(1 + work / 8)


@pytest.mark.usefixtures("by_hand")
def test_steps_are_limited_after_the_warmup() -> None:
    config = preset("mini80-sym50", "dividemix")
    train, warmup = config.train, config.settings.warmup_epochs  # type: ignore[attr-defined]
    share = train.max_steps * train.batch_size / 10_000
    assert 0 < share < 1
    passes = warmup * 2 + (train.epochs - warmup) * 8 * share + train.epochs * 0.1
    assert run_seconds(config, amount_of(config), ONE) == pytest.approx(1 + 100 * passes)


@pytest.mark.usefixtures("by_hand")
def test_a_method_that_says_nothing_counts_as_cross_entropy() -> None:
    @register
    class Unsaid(Standard):
        """A method from elsewhere."""

        cost = None

    config = preset("digits", "standard")
    amount = amount_of(config)
    assert run_seconds(replace(config, method="Unsaid"), amount, ONE) == run_seconds(config, amount, ONE)
    assert estimate_text(60, at_least=True).startswith("at least 60 seconds on this machine")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_what_it_costs(method: str) -> None:
    cost = METHODS[method].cost
    assert cost is not None and cost.later >= cost.warmup >= 1


def test_a_measurement_leaves_no_trace() -> None:
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    small = pass_seconds(NetSettings(width=0.125), (3, 16, 16))
    assert 0 < small < pass_seconds(NetSettings(width=0.125), (3, 64, 64))
    assert 0 < search_seconds(1_000, 16, 5) < search_seconds(10_000, 16, 5)
    assert torch.equal(torch.random.get_rng_state(), before) and torch.get_num_threads() == threads


@pytest.mark.parametrize("name", PRESETS)
def test_the_extent_of_every_benchmark_is_known(name: str) -> None:
    amount = amount_of(preset(name))
    assert amount.images == EXTENTS[preset(name).data.benchmark.name].images
    assert amount_of(on_frozen(preset(name))).image == (1, 1, 1280)


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
    # A tenth is held out.
    assert amount == Amount(45, (3, 20, 20))


def test_times_for_readers() -> None:
    assert [duration(seconds) for seconds in (20, 600, 7200, 864_000)] == [
        "20 seconds", "10.0 minutes", "2.0 hours", "10.0 days",
    ]  # fmt: skip
    assert estimate_text(7200) == (
        "about 2.0 hours on this machine, measured now (rough; longer while other work shares its cores)"
    )
    assert 1 <= threads_of(ONE) <= cores()
